import { expect, test } from 'vitest';
import { buildSignedSubject, createOrderSigning } from '../../src/approvals/order-signing.ts';
import { buildChallenge } from '../../src/approvals/signing/approval.ts';
import type { TeamSettings } from '../../src/config/environment.ts';
import type { Order } from '../../src/orders/order.ts';
import type { Membership, SigningRows } from '../../src/orders/ports.ts';
import { hoursLater, newOrder, newRequirements, START } from '../orders/sample.ts';
import { newPolicyRule } from '../policy/sample.ts';
import { NO_POLICY } from '../support/nothing-known.ts';
import { newTeamSettings } from '../support/settings.ts';
import { getRootFingerprints, newKeyLog, newNonce, newSigner, VERIFIER } from './signing/sample.ts';

/* Without a charter, the environment's approvers sign renewals: here Bob, whose key Anna vouched for. */

const [anna, bob] = [newSigner('U0ANNA'), newSigner('U0BOB')];
const KEYS = newKeyLog([anna, bob], [[anna, bob]]);
const TRUST = { roots: getRootFingerprints(anna), verifier: VERIFIER, botSigner: undefined };
const ROWS: SigningRows = {
  log: { keys: KEYS, charters: [] },
  policy: { version: 0, rules: [] },
  savedSettings: {},
  standIns: new Map(),
};

interface Given {
  readonly settings?: Partial<TeamSettings>;
  readonly memberships?: Readonly<Record<string, Membership>>;
  readonly rows?: Partial<SigningRows>;
}

function signingOf(
  { settings = {}, memberships = {}, rows = {} }: Given = {},
  trust = true,
  onRead = () => 0,
) {
  return createOrderSigning({
    trust: trust ? TRUST : undefined,
    readRows: async () => {
      onRead();
      return { ...ROWS, ...rows };
    },
    directory: {
      findMembership: async (id) => memberships[id] ?? 'member',
      listGroupMembers: async () => undefined,
    },
    applySavedSettings: () => newTeamSettings(settings),
    environmentSettings: newTeamSettings(settings),
    ruleFacts: NO_POLICY.ruleFacts,
    now: () => START,
  });
}

const unsigned = newOrder(['cafe.rest'], { state: 'APPROVED' });
const { challenge, binding } = buildChallenge('U0BOB', buildSignedSubject(unsigned, 0), newNonce());
const click = { userId: 'U0BOB', at: START, agreedExcess: [] };
const signature = { ...click, signed: { signature: bob.authenticator.assert(challenge), binding } };
const signed: Order = { ...unsigned, approvals: [signature] };
const clicked: Order = { ...unsigned, approvals: [click] };
const REFUSING = { version: 1, rules: [newPolicyRule({ decision: 'refuse' })] };

const findObstacle = async (order: Order, given: Given, now: Partial<SigningRows> = {}) => {
  const guard = await signingOf(given).loadSendingGuard(order);
  if (guard === undefined || guard === 'no_signatures') return guard ?? 'later';
  return guard.verify({ ...ROWS, ...given.rows, ...now, order });
};
const differences = (...all: readonly string[]) => ({ kind: 'not_signed', differences: all });

test.each<[string, Order, Given, unknown]>([
  ['is sent with Bob’s signature', signed, {}, undefined],
  ['isn’t sent with only a click', clicked, {}, differences('unsigned')],
  ['isn’t sent without approvals', unsigned, {}, differences('count')],
  ['isn’t sent after Bob has left', signed, { memberships: { U0BOB: 'left' } }, differences('key')],
  ['waits while Slack doesn’t return Bob', signed, { memberships: { U0BOB: 'unknown' } }, 'later'],
  ['waits while Slack doesn’t return a key’s owner', signed, { memberships: { U0ANNA: 'unknown' } }, 'later'],
  [
    'waits while Slack doesn’t return an approver without a key',
    { ...clicked, approvals: [{ ...click, userId: 'U0CAROL' }] },
    { settings: { approvers: ['U0CAROL'] }, memberships: { U0CAROL: 'unknown' } },
    'later',
  ],
  ['waits while Slack doesn’t return a group', signed, { settings: { approvers: ['S0LEADS'] } }, 'later'],
  ['is sent with a click if nobody has to sign', clicked, { settings: { approvalTasks: [] } }, undefined],
  [
    'isn’t sent if a rule refuses it',
    signed,
    { rows: { policy: REFUSING, log: { keys: { ...KEYS, isComplete: false }, charters: [] } } },
    differences('refused'),
  ],
])('an order that Bob has to sign %s', async (_, order, given, expected) => {
  expect(await findObstacle(order, given)).toEqual(expected);
});

test('an order is checked again if the policy has changed', async () => {
  expect(await findObstacle(signed, {}, { policy: REFUSING })).toEqual({ kind: 'changed' });
});

test('without keys, only orders that need no signatures are sent', async () => {
  const { loadSendingGuard } = signingOf({}, false);
  expect(await loadSendingGuard(unsigned)).toBe('no_signatures');
  const { list, ...requirements } = newRequirements(['cafe.rest']);
  const needsSignature = { ...requirements, list: list.map((each) => ({ ...each, signed: true })) };
  const guard = await loadSendingGuard({ ...signed, requirements: needsSignature });
  if (guard === undefined || guard === 'no_signatures') throw new Error('expected a guard');
  expect(await guard.verify({ ...ROWS, order: signed })).toEqual(differences('no_keys'));
});

test.each([
  ['without a signature', true, [click], []],
  ['without keys', false, [signature], []],
  ['with a signature', true, [click, signature], ['read']],
] as const)('approvals %s read the keys only if needed', async (_, trust, approvals, expected) => {
  const reads: string[] = [];
  const { findSigners } = signingOf({}, trust, () => reads.push('read'));
  const signers = await findSigners(approvals, buildSignedSubject(unsigned, 0));
  expect(reads).toEqual(expected);
  expect([...signers]).toEqual(expected.map(() => 'U0BOB'));
});

test('a stand-in ends at the end time', async () => {
  const untilHours = (hours: number) => ({ userId: 'U0EVE', until: hoursLater(hours) });
  const standIns = new Map([
    ['U0BOB', untilHours(0)],
    ['U0CAROL', untilHours(1)],
  ]);
  const { loadActiveStandIns } = signingOf({ rows: { standIns } }).standIns;
  expect([...(await loadActiveStandIns(START)).keys()]).toEqual(['U0CAROL']);
});
