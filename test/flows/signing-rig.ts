import type { Actor, Message } from '@domain-steward/slack-workspace';
import { z } from 'zod';
import type { Authenticator, Misbehavior } from '../support/authenticator.ts';
import { buttonsOf, DOMAINS, performAndReadReply, type TestDemo, textOf } from '../support/demo.ts';

/* People with software passkeys, who sign on the bot’s pages over HTTP like a browser. */

/** The value of `PUBLIC_URL`, and its host as the passkeys' relying party. */
export const PUBLIC_SITE = { id: 'localhost', origin: 'http://localhost:3999' };

const optionsSchema = z.object({ challenge: z.string() });
const pageDataSchema = z.object({ action: z.enum(['get', 'create']), options: optionsSchema });
const pageReplySchema = z.object({
  done: z.boolean(),
  title: z.string(),
  text: z.string(),
  code: z.string().optional(),
});

function extractAddresses(text: string): readonly string[] {
  return [...new Set(text.match(/http:\/\/localhost:3999\/[\w/-]+/g))];
}

export function extractAddress(text: string): string {
  const [address] = extractAddresses(text);
  if (address === undefined) throw new Error(`no address in: ${text}`);
  return address;
}

export function createSigningHelpers(t: TestDemo) {
  const toBotUrl = (address: string) => address.replace(PUBLIC_SITE.origin, t.botUrl);

  async function open(address: string) {
    const response = await fetch(toBotUrl(address));
    const html = await response.text();
    const [, json] = /id="data">(.*?)<\/script>/s.exec(html) ?? [];
    return {
      status: response.status,
      headers: response.headers,
      html,
      data: json && pageDataSchema.parse(JSON.parse(json)),
    };
  }

  /** Posts to a page like a browser. */
  async function post(address: string, body: unknown, headers: Record<string, string> = {}) {
    const response = await fetch(toBotUrl(address), {
      method: 'POST',
      headers: { 'content-type': 'application/json', origin: PUBLIC_SITE.origin, ...headers },
      body: typeof body === 'string' ? body : JSON.stringify(body),
    });
    const reply: unknown = await response.json();
    return { status: response.status, ...pageReplySchema.partial().parse(reply) };
  }

  /** Clicks the page’s button and sends the passkey’s response. */
  async function submitPage(address: string, authenticator: Authenticator, misbehavior: Misbehavior = {}) {
    const page = await open(address);
    if (page.data === undefined || page.data === '') throw new Error(page.html);
    const { challenge } = page.data.options;
    return post(
      address,
      page.data.action === 'create'
        ? { label: 'Laptop', registration: authenticator.register(challenge, misbehavior) }
        : authenticator.answer(challenge, misbehavior),
    );
  }

  /** Clicks a button in the reply to `/domain key`. @returns the reply to the click */
  async function clickKeyButton(person: Actor, action: string, value?: string): Promise<string> {
    const ephemeralCount = person.ephemerals().length;
    await person.command(DOMAINS, '/domain key');
    const isKeyList = (message: Message) => buttonsOf(message).includes('key_add');
    const keyList = await t.workspace.waitFor(
      () => person.ephemerals().slice(ephemeralCount).find(isKeyList),
      {
        what: 'the list of passkeys',
      },
    );
    const clickButton = () => person.click(keyList, action, value === undefined ? {} : { value });
    return performAndReadReply(t.workspace, person, clickButton);
  }
  const getKeyLink = async (...button: Parameters<typeof clickKeyButton>) =>
    extractAddress(await clickKeyButton(...button));

  return {
    open,
    post,
    submitPage,
    getKeyLink,
    /** The reply to a person after an action. */
    actAndReadReply: (person: Actor, act: () => Promise<unknown>) =>
      performAndReadReply(t.workspace, person, act),
    async enroll(person: Actor, authenticator: Authenticator) {
      return submitPage(await getKeyLink(person, 'key_add'), authenticator);
    },
    async vouch(voucher: Actor, ownKey: Authenticator, forKey: Authenticator) {
      return submitPage(await getKeyLink(voucher, 'key_vouch', forKey.fingerprint), ownKey);
    },
    clickKeyButton,
    /** The addresses of the pages that retire a passkey, and that revoke it as compromised. */
    async getRevokeLinks(revoker: Actor, key: Authenticator) {
      const [retired = '', compromised = ''] = extractAddresses(
        await clickKeyButton(revoker, 'key_revoke', key.fingerprint),
      );
      return { retired, compromised };
    },
    async revoke(revoker: Actor, ownKey: Authenticator, key: Authenticator, misbehavior: Misbehavior = {}) {
      return submitPage(await getKeyLink(revoker, 'key_revoke', key.fingerprint), ownKey, misbehavior);
    },
    showKeys: async (person: Actor) => {
      await performAndReadReply(t.workspace, person, () => person.command(DOMAINS, '/domain key'));
      return textOf(person.ephemerals().at(-1) ?? { blocks: [] });
    },
  };
}
