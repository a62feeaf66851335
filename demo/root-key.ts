import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import type { RelyingParty } from '#src/approvals/signing/assertion.ts';
import { Authenticator } from './authenticator.ts';

/*
 * The demo's signing root is a software passkey of Ada's. It is stored with the demo's data, so that its vouches stay
 * valid after a restart.
 */

export async function loadOrCreateRoot(dataDir: string, relyingParty: RelyingParty): Promise<Authenticator> {
  const file = join(dataDir, 'root.key');
  const stored = await readFile(file, 'utf8').catch(() => undefined);
  const root = new Authenticator(
    relyingParty,
    stored === undefined ? undefined : Buffer.from(stored, 'base64'),
  );
  if (stored === undefined) await writeFile(file, root.privateKey().toString('base64'), { mode: 0o600 });
  return root;
}

export function findPageAddress(text: string): string | undefined {
  return /http:\/\/localhost:\d+\/(?:sign|keys)\/\S+/.exec(text)?.[0];
}

const pageDataSchema = z.object({
  action: z.enum(['get', 'create']),
  options: z.object({ challenge: z.string() }),
});
const resultSchema = z.object({ done: z.boolean(), title: z.string(), text: z.string() });

/**
 * Signs on a page, as a browser with this passkey would.
 * @param address the page's public URL
 * @param botUrl where the bot can be reached
 * @returns the page's title afterwards
 * @throws Error with the page's text if it doesn't sign
 */
export async function signPage(
  authenticator: Authenticator,
  address: string,
  botUrl: string,
): Promise<string> {
  const { origin, pathname } = new URL(address);
  const url = new URL(pathname, botUrl);
  const html = await (await fetch(url)).text();
  const [, json] = /id="data">(.*?)<\/script>/s.exec(html) ?? [];
  if (json === undefined) throw new Error(`nothing to sign at ${pathname.slice(0, 6)}…`);
  const { action, options } = pageDataSchema.parse(JSON.parse(json));
  const body =
    action === 'create'
      ? { label: 'The demo', registration: authenticator.register(options.challenge) }
      : authenticator.answer(options.challenge);
  const headers = { 'content-type': 'application/json', origin };
  const answer = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) });
  const { done, title, text } = resultSchema.parse(await answer.json());
  if (!done) throw new Error(text);
  return title;
}
