import { expect, test } from 'vitest';
import { type NextTarget, progressOf, type Situation } from '../../demo/page/paths/path.ts';
import { signIt } from '../../demo/page/paths/sign-it.ts';
import { cardOf, messageAt, situationOf } from '../support/guide.ts';

/* The path of a signed approval: an enrollment, a vouching, a signature, a revocation. */

const listOf = (me: string, ts: string, ...actions: string[]) =>
  messageAt(ts, {
    ephemeral_to: me,
    blocks: [{ type: 'actions', elements: actions.map((action_id) => ({ type: 'button', action_id })) }],
  });
const linkOf = (me: string, ts: string, text: string) => messageAt(ts, { ephemeral_to: me, text });
const card = (state: string) => cardOf(state, '10.0', { names: 'menu.example' });

function next(
  me: string,
  messages: Parameters<typeof situationOf>[1],
  ...ceremonies: string[]
): [step: string | undefined, target: NextTarget | undefined] {
  const { current, target } = progressOf(signIt, situationOf(me, messages, { ceremonies }));
  return [current?.title, target];
}

test('begins with Bob, who adds a passkey by a command, a button and a link', () => {
  expect(next('U0ALICE', [])).toEqual(['Add a passkey', { kind: 'person', user: 'U0BOB' }]);
  expect(next('U0BOB', [])[1]).toEqual({ kind: 'composer', text: '/domain key' });
  const list = listOf('U0BOB', '1.0', 'key_add');
  expect(next('U0BOB', [list])[1]).toEqual({ kind: 'action', ts: '1.0', actionId: 'key_add' });
  const link = linkOf('U0BOB', '2.0', 'Add a passkey here: http://localhost:3000/keys/x');
  expect(next('U0BOB', [list, link])[1]).toBeUndefined();
  expect(next('U0BOB', [list, link, listOf('U0BOB', '3.0', 'key_add')])[1]).toMatchObject({ ts: '3.0' });
});

test('has Ada vouch with the demo’s passkey', () => {
  expect(next('U0BOB', [], 'Added')).toEqual(['Vouch for it', { kind: 'person', user: 'U0ADA' }]);
  const link = linkOf('U0ADA', '2.0', 'Vouch for it with your passkey here: http://localhost:3000/keys/x');
  const { current, target } = progressOf(
    signIt,
    situationOf('U0ADA', [listOf('U0ADA', '1.0', 'key_vouch'), link], { ceremonies: ['Added'] }),
  );
  expect([current?.deed?.route, target]).toEqual(['/local/root', undefined]);
});

test('continues with Carol’s request, Bob’s signature and the thread', () => {
  const vouched = ['Added', 'Vouched'] as const;
  const text = '/domain renew menu.example -- it must not be lost';
  expect(next('U0CAROL', [], ...vouched)).toEqual(['Request a renewal', { kind: 'composer', text }]);
  expect(next('U0CAROL', [card('PENDING')], ...vouched)[1]).toEqual({ kind: 'person', user: 'U0BOB' });
  const button = { kind: 'action', ts: '10.0', actionId: 'order_sign' };
  expect(next('U0BOB', [card('PENDING')], ...vouched)).toEqual(['Sign it', button]);
  const link = linkOf(
    'U0BOB',
    '11.0',
    'Check what will be sent, and sign it, here: http://localhost:3000/sign/x',
  );
  expect(next('U0BOB', [card('PENDING'), link], ...vouched)[1]).toBeUndefined();
  expect(next('U0BOB', [card('SUCCEEDED')], ...vouched)).toEqual([
    'See the result',
    { kind: 'thread', ts: '10.0' },
  ]);
});

test('ends with the revocation, even after a restart of the demo', () => {
  const situation = situationOf('U0BOB', [card('SUCCEEDED')], {
    place: { channel: 'C0DOMAINS', thread: '10.0' },
  });
  const noted = signIt.seenNow({ ...situation, ceremonies: ['Added', 'Vouched', 'Signed'] });
  expect(noted).toEqual(['Added', 'Vouched', 'Signed', '10.0']);
  const later: Situation = { ...situation, seen: noted.flatMap((seen) => seen ?? []) };
  expect(progressOf(signIt, later).current?.title).toBe('Revoke it');
  expect(progressOf(signIt, { ...later, ceremonies: ['Revoked'] }).current).toBeUndefined();
});
