import type { Interaction } from './feature.ts';
import { handedOverText, notHandedOverText } from './files.view.ts';
import { escapeText, type Message, textMessage } from './kit/blocks.ts';
import { formatSlackError } from './outbound/slack-error.view.ts';
import { uploadFile, uploadText } from './outbound/upload.ts';
import { SlackApiError } from './outbound/web.ts';

interface FileForPerson {
  readonly filename: string;
  /** The subject of “… is in our direct message.” */
  readonly what: string;
}

/** A text as a file. */
export interface TextFile extends FileForPerson {
  readonly text: string;
}

/**
 * Sends a person a text as a file, by direct message.
 * @param file.told what to tell them in the place of “… is in our direct message.”
 * @returns what to tell them
 */
export async function sendFile(
  call: Interaction,
  file: TextFile & { readonly told?: string },
): Promise<Message> {
  const { what, told = handedOverText(what) } = file;
  return (await handOver(call, file)) ?? textMessage(told);
}

/** Sends a person a text, or what is on disk. @returns why they did not get it; undefined when they did */
export async function handOver(
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
    context.log.warn({ err: error, by: person.id, filename }, 'sending a file');
    return textMessage(escapeText(notHandedOverText(formatSlackError(error))));
  }
  return undefined;
}
