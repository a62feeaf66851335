import type { Interaction } from './feature.ts';
import { fileNotSentText, fileSentText } from './files.view.ts';
import { escapeText, type Message, textMessage } from './kit/blocks.ts';
import { formatSlackError } from './outbound/slack-error.view.ts';
import { uploadFile, uploadText } from './outbound/upload.ts';
import { SlackApiError } from './outbound/web.ts';

interface FileForPerson {
  readonly filename: string;
  /** Describes the file, for example “The plan with 46 changes”. */
  readonly what: string;
}

export interface TextFile extends FileForPerson {
  readonly text: string;
}

/**
 * Sends the file by direct message.
 * @param file.told replaces “I sent you … as a direct message.”
 * @returns the reply
 */
export async function sendFile(
  call: Interaction,
  file: TextFile & { readonly reply?: string },
): Promise<Message> {
  const { what, reply: told = fileSentText(what) } = file;
  return (await deliverFile(call, file)) ?? textMessage(told);
}

/**
 * Sends text or a file on disk.
 * @returns why it failed; undefined if it succeeded
 */
export async function deliverFile(
  { context, person }: Interaction,
  { filename, what, ...file }: TextFile | (FileForPerson & { readonly path: string }),
): Promise<Message | undefined> {
  try {
    const channelId = await context.directory.directMessage(person.id);
    const shared = { filename, channelId, comment: `${what}.` };
    await ('path' in file
      ? uploadFile(context.web, { ...shared, ...file })
      : uploadText(context.web, { ...shared, ...file }));
  } catch (error) {
    if (!(error instanceof SlackApiError)) throw error;
    context.log.warn({ err: error, by: person.id, filename }, 'sending a file failed');
    return textMessage(escapeText(fileNotSentText(formatSlackError(error))));
  }
  return undefined;
}
