import { expect, test } from 'vitest';
import { decideRequest } from '../../src/orders/decide-request.ts';
import {
  type CheckedRequest,
  checkRequest,
  type OrderRequest,
  type RequestContext,
} from '../../src/orders/request-context.ts';
import { NO_SECRETS, saltSecret } from '../../src/orders/salted-secret.ts';
import { getCredentialInterfaces } from '../../src/service/interfaces.ts';
import { Secret } from '../../src/service/secret.ts';
import { EXCESS } from '../approvals/decision-sample.ts';
import { newTeamSettings } from '../support/settings.ts';
import { ALICE } from './rig.ts';
import { ENDPOINTS, hoursLater, newOrder, newRequirements, START } from './sample.ts';

const TWO_APPROVALS = newRequirements(['cafe.rest'], 2);
const NO_APPROVALS = { ...TWO_APPROVALS, outcome: 'free', list: [] } as const;
const RULE = { kind: 'rule', version: 3, index: 0, name: 'no renewals' } as const;
const REFUSED_BY_RULE = { ...NO_APPROVALS, outcome: 'refuse', refusedBy: [RULE] } as const;
const RESERVATION = { teamId: 'T0STEWARD', day: '2026-03-01', items: [], agreedExcess: [], hasBudget: true };

interface RequestChanges extends Partial<Omit<RequestContext, 'request'>> {
  readonly requirements?: RequestContext['evaluated']['requirements'];
  readonly request?: Partial<OrderRequest>;
}

function requireChecked(request: OrderRequest): CheckedRequest {
  const checked = checkRequest(getCredentialInterfaces('password', true), request);
  if (checked.kind !== 'checked') throw new Error(`the sample's request is ${checked.kind}`);
  return checked;
}

/** Alice requests a renewal of cafe.rest that needs two approvals. */
function newRequest({
  requirements = TWO_APPROVALS,
  request: changes,
  ...rest
}: RequestChanges): RequestContext {
  const request: OrderRequest = {
    task: 'renew',
    input: { names: ['cafe.rest'], period: '2' },
    secret: undefined,
    reason: 'client paid',
    requesterId: 'U0ALICE',
    account: ALICE,
    channelId: 'C0DOMAINS',
    threadTs: undefined,
    deliveryId: 'command:1',
    ...changes,
  };
  return {
    now: START,
    id: '7k2m9qx4h1ab',
    request,
    account: ALICE,
    checked: requireChecked(request),
    schedule: undefined,
    evaluated: { settings: newTeamSettings(), policyVersion: 3, requirements, decidedBy: [RULE] },
    price: undefined,
    firstExpiry: undefined,
    budgets: { price: undefined, exceeded: [], reservation: RESERVATION },
    secrets: { ...NO_SECRETS, inputHash: request.secret && saltSecret(request.secret).hash },
    serviceEndpoints: ENDPOINTS,
    ...rest,
  };
}

const NAMESERVERS_INPUT = { name: 'cafe.rest', nameServers: ['ns1.example.net', 'ns2.example.net'] };
const NAMESERVERS_REQUEST = { task: 'nameservers', input: NAMESERVERS_INPUT } as const;
const TRANSFER_REQUEST = {
  task: 'transfer',
  input: {
    name: 'cafe.rest',
    ownerc: '1',
    adminc: '1',
    techc: '1',
    nameServers: NAMESERVERS_INPUT.nameServers,
  },
  secret: new Secret('7f3-K'),
} as const;
const RETRIED_ORDER = newOrder(['cafe.rest'], {
  id: 'earlier',
  requesterId: 'U0BOB',
  earlierRequesters: ['U0CY'],
});

test.each<[what: string, given: RequestChanges, decision: object]>([
  [
    'waits for approval',
    {},
    {
      kind: 'create',
      reservation: undefined,
      order: {
        ...{ state: 'PENDING', approvalsRequired: 2, policyVersion: 3, createdAt: START },
        ...{ expiresAt: hoursLater(72), remindAt: hoursLater(4), escalateAt: hoursLater(24) },
        account: { login: 'alice', context: 4 },
        items: [{ name: 'cafe.rest', state: 'WAITING', ctid: '7k2m9qx4h1ab' }],
      },
      logEntry: {
        kind: 'requested',
        actor: 'U0ALICE',
        state: 'PENDING',
        reason: 'client paid',
        decidedBy: [RULE],
        names: ['cafe.rest'],
        input: { names: ['cafe.rest'], period: 2 },
      },
    },
  ],
  [
    'has an item for each name',
    {
      request: { input: { names: ['cafe.rest', 'bar.rest'], period: '2' } },
      secrets: { ...NO_SECRETS, itemHashes: new Map([1, 2].map((n) => [n, `sha256:${n}`])) },
    },
    {
      order: {
        items: [
          { n: 1, name: 'cafe.rest', ctid: '7k2m9qx4h1ab.1', secretHash: 'sha256:1' },
          { n: 2, name: 'bar.rest', ctid: '7k2m9qx4h1ab.2', secretHash: 'sha256:2' },
        ],
      },
    },
  ],
  [
    'can be scheduled before its name expires',
    { schedule: { sendAt: hoursLater(30), occursTwice: false }, firstExpiry: hoursLater(31) },
    { order: { sendAfter: hoursLater(30) } },
  ],
  [
    'can’t be scheduled for the time its name expires',
    { schedule: { sendAt: hoursLater(30), occursTwice: false }, firstExpiry: hoursLater(30) },
    { kind: 'refused', refusal: { code: 'send_at_after_expiry', expiresAt: hoursLater(30) } },
  ],
  [
    'gets an earlier reminder if its name expires soon',
    { firstExpiry: hoursLater(30) },
    { order: { remindAt: hoursLater(1), escalateAt: hoursLater(6), expiresAt: hoursLater(72) } },
  ],
  [
    'that needs no approval is sent at once, with a reservation',
    { requirements: NO_APPROVALS },
    {
      reservation: RESERVATION,
      order: { state: 'APPROVED', expiresAt: undefined },
      logEntry: { state: 'APPROVED' },
    },
  ],
  [
    'that needs no approval but exceeds a budget waits only for an admin',
    { requirements: NO_APPROVALS, budgets: { price: undefined, exceeded: EXCESS, reservation: RESERVATION } },
    {
      reservation: undefined,
      order: { state: 'PENDING', approvalsRequired: 0 },
      logEntry: { overBudget: EXCESS },
    },
  ],
  [
    'starts as a draft if the requester has to confirm',
    { request: NAMESERVERS_REQUEST },
    { reservation: undefined, order: { state: 'DRAFT', expiresAt: hoursLater(0.25), remindAt: undefined } },
  ],
  [
    'starts as a draft even if it needs no approval',
    { request: NAMESERVERS_REQUEST, requirements: NO_APPROVALS },
    { reservation: undefined, order: { state: 'DRAFT' } },
  ],
  [
    'is refused by a rule',
    { requirements: REFUSED_BY_RULE },
    { kind: 'refused', refusal: { rules: [RULE] } },
  ],
  [
    'is refused by a rule before it becomes a draft',
    { request: NAMESERVERS_REQUEST, requirements: REFUSED_BY_RULE },
    { kind: 'refused', refusal: { code: 'policy_refuses' } },
  ],
  [
    'keeps only the hash of a secret',
    { request: TRANSFER_REQUEST },
    {
      order: {
        secretHash: expect.stringMatching(/^sha256:/),
        input: expect.not.objectContaining({ auth: '7f3-K' }),
      },
    },
  ],
  [
    'keeps all earlier requesters',
    { request: { retriedOrder: RETRIED_ORDER } },
    {
      order: { retryOf: 'earlier', earlierRequesters: ['U0CY', 'U0BOB'] },
      logEntry: { retryOf: 'earlier', accountOwner: 'U0CY' },
    },
  ],
  [
    'is private if made in a direct message',
    { request: { isPrivate: true } },
    { order: { isPrivate: true, threadTs: undefined } },
  ],
])('a request %s', (_, requestChanges, decision) => {
  expect(decideRequest(newRequest(requestChanges))).toMatchObject(decision);
});

test('the log of an order starts with its statement’s hash', () => {
  const decision = decideRequest(newRequest({}));
  if (decision.kind !== 'create') throw new Error(decision.kind);
  expect(decision.order.statementHash).toMatch(/^[0-9a-f]{64}$/);
  expect(decision.logEntry).toMatchObject({
    statement: decision.order.statementHash,
    service: ENDPOINTS.jsonUrl,
  });
  expect(decision.logEntry).not.toHaveProperty('replyTo');
});
