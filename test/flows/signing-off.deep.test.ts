import { describe, expect, test } from 'vitest';
import { Authenticator } from '../support/authenticator.ts';
import {
  actAndReadReply,
  actUntilOpened,
  DOMAINS,
  readCommandReply,
  textOf,
  useTestDemo,
} from '../support/demo.ts';
import { expectFormClosed } from '../support/people.ts';
import { PUBLIC, signingPeople } from './signing-rig.ts';

/* Signing isn't set up: no root is set, or the bot's address isn't one where browsers support passkeys. */

const RULE =
  '- {rule_name: renewals are signed, tasks: [renew], names: ["*"], decision: approve, approvers: [U0BOB], signed: true}';

const CASES = { 'without roots': PUBLIC.origin, 'without https': 'http://steward.example' };

describe.each(Object.entries(CASES))('%s', (_what, address) => {
  const roots = address === PUBLIC.origin ? {} : { SIGNING_ROOTS: new Authenticator(PUBLIC).fingerprint };
  const t = useTestDemo({ settings: { PUBLIC_URL: address, ADMINS: 'U0ADA,U0BOB', ...roots } });
  const people = signingPeople(t);

  const showPolicy = async () => {
    await readCommandReply(t.workspace, t.ada, '/domain policy');
    const message = t.ada.ephemerals().at(-1);
    if (message === undefined) throw new Error('no policy was shown');
    return message;
  };

  test('a policy that needs signatures is refused at publishing', async () => {
    const list = await showPolicy();
    const form = await actUntilOpened(t.workspace, t.ada, () => t.ada.click(list, 'policy_upload'));
    await actAndReadReply(t.workspace, t.ada, async () =>
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

  test('over http, passkeys can’t be added; without roots, none is valid', async () => {
    if (address !== PUBLIC.origin) {
      await t.bob.command(DOMAINS, '/domain key');
      const keys = await t.workspace.waitFor(() => t.bob.ephemerals().at(-1), { what: 'the passkeys' });
      const reply = await people.replyAfter(t.bob, () => t.bob.click(keys, 'key_add'));
      expect(reply).toContain('Passkeys work only over `https`');
      return;
    }
    const own = new Authenticator(PUBLIC);
    expect(await people.enrol(t.bob, own)).toMatchObject({
      ...{ done: true, title: 'Added' },
      text: expect.stringContaining(own.fingerprint),
    });
    const list = await people.showKeys(t.ada);
    expect(list).toContain(own.fingerprint);
    expect(list).toContain('the operator hasn’t set SIGNING_ROOTS');
    expect(list).not.toContain('*valid*');
  });
});
