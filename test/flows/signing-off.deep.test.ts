import { describe, expect, test } from 'vitest';
import { Authenticator } from '../support/authenticator.ts';
import {
  DOMAINS,
  performAndReadReply,
  performAndWaitForView,
  readCommandReply,
  textOf,
  useTestDemo,
} from '../support/demo.ts';
import { expectFormClosed } from '../support/people.ts';
import { createSigningHelpers, PUBLIC_SITE } from './signing-rig.ts';

/* Signing isn't set up: no root is set, or the bot's address isn't one where browsers support passkeys. */

const RULE =
  '- {rule_name: renewals are signed, tasks: [renew], names: ["*"], decision: approve, approvers: [U0BOB], signed: true}';

const PUBLIC_URLS = { 'without roots': PUBLIC_SITE.origin, 'without https': 'http://steward.example' };

describe.each(Object.entries(PUBLIC_URLS))('%s', (_what, publicUrl) => {
  const roots =
    publicUrl === PUBLIC_SITE.origin ? {} : { SIGNING_ROOTS: new Authenticator(PUBLIC_SITE).fingerprint };
  const t = useTestDemo({ settings: { PUBLIC_URL: publicUrl, ADMINS: 'U0ADA,U0BOB', ...roots } });
  const people = createSigningHelpers(t);

  const showPolicy = async () => {
    await readCommandReply(t.workspace, t.ada, '/domain policy');
    const message = t.ada.ephemerals().at(-1);
    if (message === undefined) throw new Error('no policy was shown');
    return message;
  };

  test('a policy that needs signatures can’t be published', async () => {
    const list = await showPolicy();
    const form = await performAndWaitForView(t.workspace, t.ada, () => t.ada.click(list, 'policy_upload'));
    await performAndReadReply(t.workspace, t.ada, async () =>
      expectFormClosed(await t.ada.submit(form, { rules: RULE })),
    );
    await t.ada.click(await showPolicy(), 'policy_publish');
    await t.workspace.waitFor(
      () => t.ada.ephemerals().find((message) => textOf(message).includes('signing isn’t set up')),
      { what: 'the refusal' },
    );
    await t.demo.bot.catchUp();
    expect(t.workspace.messages('D0BOB').map(textOf).join(), 'no request to confirm').not.toContain(
      'renewals are signed',
    );
  });

  test('passkeys can’t be added over http, and aren’t valid without roots', async () => {
    if (publicUrl !== PUBLIC_SITE.origin) {
      await t.bob.command(DOMAINS, '/domain key');
      const keys = await t.workspace.waitFor(() => t.bob.ephemerals().at(-1), { what: 'the passkeys' });
      const reply = await people.actAndReadReply(t.bob, () => t.bob.click(keys, 'key_add'));
      expect(reply).toContain('Passkeys work only over `https`');
      return;
    }
    const bobsKey = new Authenticator(PUBLIC_SITE);
    expect(await people.enroll(t.bob, bobsKey)).toMatchObject({
      ...{ done: true, title: 'Added' },
      text: expect.stringContaining(bobsKey.fingerprint),
    });
    const list = await people.showKeys(t.ada);
    expect(list).toContain(bobsKey.fingerprint);
    expect(list).toContain('the operator hasn’t set SIGNING_ROOTS');
    expect(list).not.toContain('*valid*');
  });
});
