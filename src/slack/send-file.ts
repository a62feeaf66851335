import type { Interaction } from './feature.ts';
import { type FileDescription, fileNotSentText, fileSentText } from './files.view.ts';
import { escapeText, type Message, textMessage } from './kit/blocks.ts';
import { formatSlackError } from './outbound/slack-error.view.ts';
import { uploadFile, uploadText } from './outbound/upload.ts';
import { SlackApiError } from './outbound/web.ts';

interface FileInfo {
  readonly filename: string;
  readonly description: string;
}

export interface TextFile extends FileInfo {
  readonly text: string;
}

/**
 * Sends text as a file by direct message.
 * @returns the reply to the command or click
 */
export async function sendFile(interaction: Interaction, file: TextFile & FileDescription): Promise<Message> {
  const { description, reply = fileSentText(description) } = file;
  return (await trySendFile(interaction, file)) ?? textMessage(reply);
}

/**
 * Sends text or a file on disk by direct message.
 * @returns the error message; undefined if it succeeded
 */
export async function trySendFile(
  { context, person }: Interaction,
  { filename, description, ...file }: TextFile | (FileInfo & { readonly path: string }),
): Promise<Message | undefined> {
  try {
    const channelId = await context.directory.openDirectMessage(person.id);
    const uploadFields = { filename, channelId, comment: `${description}.` };
    await ('path' in file
      ? uploadFile(context.web, { ...uploadFields, ...file })
      : uploadText(context.web, { ...uploadFields, ...file }));
  } catch (error) {
    if (!(error instanceof SlackApiError)) throw error;
    context.log.warn({ err: error, by: person.id, filename }, 'sending a file failed');
    return textMessage(escapeText(fileNotSentText(formatSlackError(error))));
  }
  return undefined;
}
