import type { Interaction } from '../feature.ts';
import { uploadText } from '../platform/upload.ts';
import { SlackApiError } from '../platform/web.ts';
import { escapeText, type Message, textMessage } from '../views/blocks.ts';
import { formatSlackError } from '../views/slack-error.ts';

/**
 * Sends a person a text as a file, by direct message.
 * @param file.what the subject of “… is in our direct message.”
 * @param file.told what to tell them in the place of that
 * @returns what to tell them
 */
export async function sendFile(
  { deps, person }: Interaction,
  file: { readonly text: string; readonly filename: string; readonly what: string; readonly told?: string },
): Promise<Message> {
  const { text, filename, what, told = `${what} is in our direct message.` } = file;
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
  return textMessage(told);
}
