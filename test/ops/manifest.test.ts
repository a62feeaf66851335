import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { UsageError } from '../../src/ops/commands/command.ts';
import { manifestCommand } from '../../src/ops/commands/manifest.ts';

/* `npm run manifest` prints the repository's manifest for Socket Mode or HTTP. */

const original = parse(readFileSync(new URL('../../manifest.yml', import.meta.url), 'utf8'));

async function printManifest(
  optionValues: Record<string, unknown>,
  args: readonly string[] = [],
): Promise<string> {
  const lines: string[] = [];
  await manifestCommand.run({ args, optionValues, env: {}, print: (line) => void lines.push(line) });
  return lines.join('\n');
}

/** Parses the manifest in the link to Slack's form. */
function parseLinkedManifest(output: string): unknown {
  const [link = ''] = /https:\/\/api\.slack\.com\/apps\?\S+/.exec(output) ?? [];
  const { searchParams } = new URL(link);
  expect(searchParams.get('new_app')).toBe('1');
  return JSON.parse(searchParams.get('manifest_json') ?? '');
}

test('with --socket the manifest has no URLs, and the link contains the same manifest', async () => {
  const output = await printManifest({ socket: true });
  const manifest = parse(output);
  expect(parseLinkedManifest(output)).toEqual(manifest);
  expect(manifest.settings.socket_mode_enabled).toBe(true);
  expect(output).not.toMatch(/YOUR-HOST|slack\/events/);
  const { features, oauth_config, display_information } = original;
  expect(manifest).toMatchObject({ oauth_config, display_information });
  expect(manifest.features.shortcuts).toEqual(features.shortcuts);
  expect(manifest.settings.interactivity).toEqual({ is_enabled: true });
});

test.each(['https://steward.example.com', 'https://steward.example.com/'])(
  'with --url %s the manifest contains URLs of this host',
  async (url) => {
    const output = await printManifest({ socket: false, url });
    const manifest = parse(output);
    expect(parseLinkedManifest(output)).toEqual(manifest);
    const filled = JSON.stringify(original).replaceAll('https://YOUR-HOST', 'https://steward.example.com');
    expect(manifest).toEqual(JSON.parse(filled));
  },
);

test.each([
  [{ socket: false }, []],
  [{ socket: true, url: 'https://steward.example.com' }, []],
  [{ socket: true }, ['extra']],
  ...[
    'http://steward.example.com',
    'steward.example.com',
    'https://u:p@h.example',
    'https://h.example/?a=b',
  ].map((url) => [{ socket: false, url }, []] as const),
] as const)('options %j with arguments %j are refused', async (values, args) => {
  await expect(printManifest(values, args)).rejects.toThrow(UsageError);
});
