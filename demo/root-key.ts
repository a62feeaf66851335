import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import type { RelyingParty } from '#src/approvals/signing/assertion.ts';
import { Authenticator } from './authenticator.ts';

/*
 * The first root of the demo: a software passkey that belongs to Ada. It is stored with the demo's data, so that its
 * vouchers count after a restart.
 */

/** The demo's root, created at its first start. */
export async function openRoot(dataDir: string, relyingParty: RelyingParty): Promise<Authenticator> {
  const file = join(dataDir, 'root.key');
  const kept = await readFile(file, 'utf8').catch(() => undefined);
  const root = new Authenticator(relyingParty, kept === undefined ? undefined : Buffer.from(kept, 'base64'));
  if (kept === undefined) await writeFile(file, root.privateKey().toString('base64'), { mode: 0o600 });
  return root;
}

/** The address of one of the bot's pages in a message. */
export function pageAddress(text: string): string | undefined {
  return /http:\/\/localhost:\d+\/(?:sign|keys)\/\S+/.exec(text)?.[0];
}

const pageData = z.object({
  action: z.enum(['get', 'create']),
  options: z.object({ challenge: z.string() }),
});
const finished = z.object({ done: z.boolean(), title: z.string(), text: z.string() });

/**
 * Clicks a page's button as a browser with this passkey would.
 * @param address of the page, at the public URL
 * @param reachedAt the address of the bot
 * @returns the page's title afterwards
 * @throws Error with the page's text if it doesn't sign
 */
export async function pressWith(
  authenticator: Authenticator,
  address: string,
  reachedAt: string,
): Promise<string> {
  const { origin, pathname } = new URL(address);
  const url = new URL(pathname, reachedAt);
  const html = await (await fetch(url)).text();
  const [, json] = /id="data">(.*?)<\/script>/s.exec(html) ?? [];
  if (json === undefined) throw new Error(`nothing to sign at ${pathname.slice(0, 6)}…`);
  const { action, options } = pageData.parse(JSON.parse(json));
  const body =
    action === 'create'
      ? { label: 'The demo', registration: authenticator.register(options.challenge) }
      : authenticator.answer(options.challenge);
  const headers = { 'content-type': 'application/json', origin };
  const answer = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) });
  const { done, title, text } = finished.parse(await answer.json());
  if (!done) throw new Error(text);
  return title;
}
