import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { type Document, parseDocument } from 'yaml';
import { type Command, CommandError, UsageError } from './command.ts';

const MANIFEST_FILE = fileURLToPath(new URL('../../../manifest.yml', import.meta.url));
/** Manifest fields that only HTTP mode needs. */
const HTTP_URL_PATHS = [
  ['features', 'slash_commands', 0, 'url'],
  ['settings', 'event_subscriptions', 'request_url'],
  ['settings', 'interactivity', 'request_url'],
];

export const manifestCommand: Command = {
  usage: '--socket | --url https://HOST',
  summary: 'print the manifest of the Slack app, and the link that creates the app',
  details:
    '--socket: Socket Mode, for a bot that Slack can’t reach. --url: the public address of the bot. The output is YAML; the link is in the comment at its end.',
  options: { socket: { type: 'boolean', default: false }, url: { type: 'string' } },
  async run({ args, optionValues, print }) {
    if (args.length > 0) throw new UsageError('manifest takes no arguments.');
    const { socket, url } = optionValues;
    if ((socket === true) === (url !== undefined)) throw new UsageError('Give either --socket or --url.');
    const text = await readFile(MANIFEST_FILE, 'utf8').catch(() => {
      throw new CommandError(`${MANIFEST_FILE} can’t be read.`);
    });
    print(formatManifest(text, typeof url === 'string' ? parsePublicUrl(url) : undefined).trimEnd());
    return undefined;
  },
};

/** @param publicUrl undefined in Socket Mode */
function formatManifest(template: string, publicUrl: string | undefined): string {
  // The first comment explains how to edit the file by hand, but the printed manifest is complete.
  const manifest = parseDocument(template.replace(/^(?:#.*\n)+/, ''));
  for (const path of HTTP_URL_PATHS) {
    if (publicUrl === undefined) manifest.deleteIn(path);
    else manifest.setIn(path, `${publicUrl}/slack/events`);
  }
  manifest.setIn(['settings', 'socket_mode_enabled'], publicUrl === undefined);
  const link = createAppLink(manifest);
  manifest.comment = ` Paste the text above at https://api.slack.com/apps → Create New App → From a manifest → YAML.\n Or open this link, which creates the app with everything filled in:\n ${link}`;
  return manifest.toString({ lineWidth: 0 });
}

/** See “Sharing manifests” at https://docs.slack.dev/app-manifests/configuring-apps-with-app-manifests. */
function createAppLink(manifest: Document): string {
  return `https://api.slack.com/apps?new_app=1&manifest_json=${encodeURIComponent(JSON.stringify(manifest.toJS()))}`;
}

function parsePublicUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.protocol !== 'https:' || `${url.username}${url.password}${url.search}${url.hash}` !== '')
    throw new UsageError('--url must be an https address, such as https://steward.example.com');
  return url.href.replace(/\/+$/, '');
}
