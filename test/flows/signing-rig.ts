import type { Actor, Message } from '@domain-steward/slack-workspace';
import { z } from 'zod';
import type { Authenticator, Misbehaviour } from '../support/authenticator.ts';
import { actAndReadReply, buttonsOf, DOMAINS, type TestDemo, textOf } from '../support/demo.ts';

/* People with software passkeys, who sign on the bot’s pages over HTTP like a browser. */

/** The configured address of the bot for browsers. */
export const PUBLIC = { id: 'localhost', origin: 'http://localhost:3999' };

const options = z.object({ challenge: z.string() });
const data = z.object({ action: z.enum(['get', 'create']), options });
const pageReply = z.object({
  done: z.boolean(),
  title: z.string(),
  text: z.string(),
  code: z.string().optional(),
});

function addressesIn(text: string): readonly string[] {
  return [...new Set(text.match(/http:\/\/localhost:3999\/[\w/-]+/g))];
}

export function extractAddress(text: string): string {
  const [address] = addressesIn(text);
  if (address === undefined) throw new Error(`no address in: ${text}`);
  return address;
}

export function signingPeople(t: TestDemo) {
  const at = (address: string) => address.replace(PUBLIC.origin, t.botUrl);

  async function open(address: string) {
    const response = await fetch(at(address));
    const html = await response.text();
    const [, json] = /id="data">(.*?)<\/script>/s.exec(html) ?? [];
    return {
      status: response.status,
      headers: response.headers,
      html,
      data: json && data.parse(JSON.parse(json)),
    };
  }

  /** Sends a browser's request. */
  async function post(address: string, body: unknown, headers: Record<string, string> = {}) {
    const response = await fetch(at(address), {
      method: 'POST',
      headers: { 'content-type': 'application/json', origin: PUBLIC.origin, ...headers },
      body: typeof body === 'string' ? body : JSON.stringify(body),
    });
    const answer: unknown = await response.json();
    return { status: response.status, ...pageReply.partial().parse(answer) };
  }

  /** Clicks the page’s button and sends the passkey’s response. */
  async function submitPage(address: string, authenticator: Authenticator, otherwise: Misbehaviour = {}) {
    const page = await open(address);
    if (page.data === undefined || page.data === '') throw new Error(page.html);
    const { challenge } = page.data.options;
    return post(
      address,
      page.data.action === 'create'
        ? { label: 'Laptop', registration: authenticator.register(challenge, otherwise) }
        : authenticator.answer(challenge, otherwise),
    );
  }

  /** Clicks a button of `/domain key`. @returns the reply */
  async function clickKeyButton(person: Actor, action: string, value?: string): Promise<string> {
    const before = person.ephemerals().length;
    await person.command(DOMAINS, '/domain key');
    const isKeys = (message: Message) => buttonsOf(message).includes('key_add');
    const shown = await t.workspace.waitFor(() => person.ephemerals().slice(before).find(isKeys), {
      what: 'the list of passkeys',
    });
    const pressing = () => person.click(shown, action, value === undefined ? {} : { value });
    return actAndReadReply(t.workspace, person, pressing);
  }
  const getKeyLink = async (...button: Parameters<typeof clickKeyButton>) =>
    extractAddress(await clickKeyButton(...button));

  return {
    open,
    post,
    press: submitPage,
    keyLink: getKeyLink,
    /** The reply to a person after an action. */
    replyAfter: (person: Actor, act: () => Promise<unknown>) => actAndReadReply(t.workspace, person, act),
    async enrol(person: Actor, authenticator: Authenticator) {
      return submitPage(await getKeyLink(person, 'key_add'), authenticator);
    },
    async vouch(by: Actor, own: Authenticator, forKey: Authenticator) {
      return submitPage(await getKeyLink(by, 'key_vouch', forKey.fingerprint), own);
    },
    keyAnswer: clickKeyButton,
    /** The addresses of the pages that retire a passkey, and that revoke it as compromised. */
    async revokeLinks(by: Actor, key: Authenticator) {
      const [retired = '', compromised = ''] = addressesIn(
        await clickKeyButton(by, 'key_revoke', key.fingerprint),
      );
      return { retired, compromised };
    },
    async revoke(by: Actor, own: Authenticator, key: Authenticator, otherwise: Misbehaviour = {}) {
      return submitPage(await getKeyLink(by, 'key_revoke', key.fingerprint), own, otherwise);
    },
    showKeys: async (person: Actor) => {
      await actAndReadReply(t.workspace, person, () => person.command(DOMAINS, '/domain key'));
      return textOf(person.ephemerals().at(-1) ?? { blocks: [] });
    },
  };
}
