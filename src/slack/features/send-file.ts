import type { Interaction } from '../feature.ts';
import { uploadText } from '../platform/upload.ts';
import { SlackApiError } from '../platform/web.ts';
import { escapeText, type Message, textMessage } from '../views/blocks.ts';
import { formatSlackError } from '../views/slack-error.ts';

/** A text as a file. */
export interface TextFile {
  readonly text: string;
  readonly filename: string;
  /** The subject of “… is in our direct message.” */
  readonly what: string;
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
  const { what, told = `${what} is in our direct message.` } = file;
  return (await handOver(call, file)) ?? textMessage(told);
}

/** Sends a person a text as a file. @returns why they did not get it; undefined when they did */
export async function handOver(
  { deps, person }: Interaction,
  { text, filename, what }: TextFile,
): Promise<Message | undefined> {
  try {
    await uploadText(deps.web, {
      text,
      filename,
      channelId: await deps.directory.directMessage(person.id),
      comment: `${what}.`,
    });
  } catch (error) {
    if (!(error instanceof SlackApiError)) throw error;
    deps.log.warn({ err: error, by: person.id, filename }, 'handing over a file');
    const { said, todo } = formatSlackError(error);
    return textMessage(escapeText(`I cannot hand you the file. ${said} ${todo}`));
  }
  return undefined;
}
