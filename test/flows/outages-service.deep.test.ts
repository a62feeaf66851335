import {
  type Fault,
  type FaultKind,
  isCarriedOut,
  SANDBOX_ACCOUNTS,
  SANDBOX_NAMESERVERS,
  type SandboxService,
  type ServiceTask,
  startSandboxService,
} from '@domain-steward/sandbox-service';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Account } from '../../src/accounts/account.ts';
import { approveOrder } from '../../src/approvals/approve.ts';
import { confirmOrder } from '../../src/orders/confirm-draft.ts';
import type { Order, OrderTaskName } from '../../src/orders/order.ts';
import { ORDER_TASKS, SENDABLE_TASK_NAMES } from '../../src/orders/tasks.ts';
import type { Credential } from '../../src/service/authenticator/signature.ts';
import type { ServiceClient } from '../../src/service/client.ts';
import { Secret } from '../../src/service/secret.ts';
import { refusalText } from '../../src/slack/orders/refusal.view.ts';
import { orderReply } from '../../src/slack/orders/thread.view.ts';
import { ALICE, MINUTE_MS, type Rig, startRig } from '../orders/rig.ts';
import { createTestClient } from '../service/clients.ts';
import { readCommandReply, useTestDemo } from '../support/demo.ts';
import { countChargesFor } from '../support/orders.ts';
import { linkTwoFactor } from '../support/people.ts';
import { JSON_FAULTS } from '../support/service-faults.ts';

/*
 * Every failure between the bot and the service, for every task and both interfaces. The service's records
 * show that each order is charged at most once, successful orders were carried out, and failed ones weren't.
 * All others are unknown.
 */

const TINA: Account = { ...ALICE, id: 'account-tina', method: 'two_factor', login: 'tina' };

let service: SandboxService;
let rig: Rig;
let clients: Map<string, ServiceClient>;
let timeoutMs = 5_000;

beforeAll(async () => {
  service = await startSandboxService();
  rig = await startRig({ client: clientFor });
  rig.accounts.set(TINA.id, TINA);
  clients = new Map();
});
afterAll(async () => {
  await endClients();
  await rig.end();
  await service.close();
});

const CREDENTIALS: Readonly<Record<string, Credential>> = {
  [ALICE.id]: {
    method: 'password',
    ...SANDBOX_ACCOUNTS.alice,
    password: new Secret(SANDBOX_ACCOUNTS.alice.password),
  },
  [TINA.id]: {
    method: 'two_factor',
    ...SANDBOX_ACCOUNTS.tina,
    password: new Secret(SANDBOX_ACCOUNTS.tina.password),
    totpSecret: new Secret(SANDBOX_ACCOUNTS.tina.totpSecret),
  },
};

let jsonAuth: 'basic' | 'session' = 'basic';

/** One client per account, as in the bot, because a two-factor token works once. */
function clientFor(accountId: string): ServiceClient {
  const usesSession = jsonAuth === 'session';
  const key = usesSession ? `${accountId} in a session of ${timeoutMs} ms` : accountId;
  const credential = CREDENTIALS[accountId];
  if (credential === undefined) throw new Error(`unknown account ${accountId}`);
  const client =
    clients.get(key) ??
    createTestClient(new URL(service.jsonUrl).origin, credential, {
      timeoutMs: usesSession ? timeoutMs : 5_000,
      jsonAuth,
    });
  clients.set(key, client);
  return {
    ...client,
    beginDescribedCall: (task, call) => client.beginDescribedCall(task, { ...call, timeoutMs }),
  };
}

async function endClients(): Promise<void> {
  await Promise.all([...clients.values()].map((client) => client.close()));
  clients.clear();
}

/** One task over one interface. */
interface TaskCase {
  readonly task: OrderTaskName;
  readonly account: Account;
  /** The task's name in the service's log. */
  readonly serviceTask: ServiceTask;
  /** Creates the task's object. @returns the request, and the item's name */
  prepare(id: number): { readonly input: unknown; readonly name: string; readonly secret?: Secret };
  /** Reads the service's records. Undefined if they can't show it. */
  wasCarriedOut(name: string): boolean | undefined;
}

const CONTEXT = 4;
const CONTACTS = { ownerc: '1001', adminc: '1002', techc: '1003' };
const NEW_NAMESERVERS = ['ns1.new.example', 'ns2.new.example'];
const findDomain = (name: string) => service.state.findDomain(name, CONTEXT);

function addDomain(id: number, overrides: object = {}): string {
  const name = `outage-${id}.rest`;
  service.state.addDomain({ name, context: CONTEXT, ...overrides });
  return name;
}

const createRedirectCase = (account: Account, mode: string, type: string): TaskCase => ({
  task: 'redirect',
  account,
  serviceTask: 'redirect.update',
  prepare(id) {
    const name = `www.outage-${id}.rest`;
    const [seeded] = service.state.data.redirects;
    if (seeded === undefined) throw new Error('the sandbox has no redirect');
    service.state.data.redirects.push({ ...seeded, source: name, target: 'https://old.example/' });
    return { input: { source: name, target: 'https://new.example/', type, mode }, name };
  },
  wasCarriedOut: (name) =>
    service.state.data.redirects.find(({ source }) => source === name)?.target === 'https://new.example/',
});

const createSslContactCase = (account: Account): TaskCase => ({
  task: 'ssl-contact',
  account,
  serviceTask: 'sslContact.update',
  prepare(id) {
    const [seeded] = service.state.data.sslContacts;
    if (seeded === undefined) throw new Error('the sandbox has no SSL contact');
    service.state.data.sslContacts.push({ ...seeded, id: 10_000 + id, fields: { ...seeded.fields } });
    return { input: { id: String(10_000 + id), city: 'Newtown' }, name: String(10_000 + id) };
  },
  wasCarriedOut: (name) =>
    service.state.data.sslContacts.find(({ id }) => String(id) === name)?.fields['city'] === 'Newtown',
});

const createUserCase = (account: Account): TaskCase => ({
  task: 'user',
  account,
  serviceTask: 'user.create',
  prepare: (id) => ({
    input: { user: `outage-${id}`, context: CONTEXT, defaultEmail: `outage-${id}@team.example` },
    name: `outage-${id}`,
  }),
  wasCarriedOut: (name) => service.state.findUser(name, CONTEXT) !== undefined,
});

const CASES: readonly TaskCase[] = [
  {
    task: 'create',
    account: ALICE,
    serviceTask: 'domain.create',
    prepare(id) {
      const name = `outage-${id}.rest`;
      return { input: { name, ...CONTACTS, nameServers: [...SANDBOX_NAMESERVERS] }, name };
    },
    wasCarriedOut: (name) => findDomain(name) !== undefined,
  },
  {
    task: 'transfer',
    account: ALICE,
    serviceTask: 'domain.transfer',
    prepare(id) {
      const name = addDomain(id, { group: 'elsewhere', authCode: 'the-code' });
      const input = { name, ...CONTACTS, nameServers: [...SANDBOX_NAMESERVERS] };
      return { input, name, secret: new Secret('the-code') };
    },
    wasCarriedOut: (name) => findDomain(name)?.pendingTransfer !== undefined,
  },
  {
    task: 'renew',
    account: ALICE,
    serviceTask: 'domain.renew',
    prepare(id) {
      const name = addDomain(id);
      return { input: { names: [name], period: '2' }, name };
    },
    wasCarriedOut: (name) => (findDomain(name)?.expires ?? 0) > Date.now() + 500 * 86_400_000,
  },
  {
    task: 'restore',
    account: ALICE,
    serviceTask: 'domain.restore',
    prepare(id) {
      const name = addDomain(id, { deletedAt: Date.now() - 86_400_000 });
      return { input: { name }, name };
    },
    wasCarriedOut: (name) => findDomain(name)?.deletedAt === undefined,
  },
  {
    task: 'delete',
    account: ALICE,
    serviceTask: 'domain.delete',
    prepare(id) {
      const name = addDomain(id);
      return { input: { name }, name };
    },
    wasCarriedOut: (name) => findDomain(name)?.deletedAt !== undefined,
  },
  {
    task: 'nameservers',
    account: ALICE,
    serviceTask: 'domain.update',
    prepare(id) {
      const name = addDomain(id);
      return { input: { name, nameServers: NEW_NAMESERVERS }, name };
    },
    wasCarriedOut: (name) => findDomain(name)?.nameServers.join() === NEW_NAMESERVERS.join(),
  },
  {
    task: 'authcode',
    account: ALICE,
    serviceTask: 'domain.authinfo',
    prepare(id) {
      const name = addDomain(id);
      return { input: { name }, name };
    },
    wasCarriedOut: () => undefined,
  },
  {
    task: 'owner-change',
    account: ALICE,
    serviceTask: 'domain.ownerChange',
    prepare(id) {
      const name = addDomain(id);
      return { input: { name }, name };
    },
    wasCarriedOut: (name) => findDomain(name)?.transferLockUntil !== undefined,
  },
  createRedirectCase(ALICE, 'HTTP', 'DOMAIN'),
  createRedirectCase(TINA, 'single', 'domain'),
  createSslContactCase(ALICE),
  createSslContactCase(TINA),
  createUserCase(ALICE),
  createUserCase(TINA),
];

test('the table has every task that sends a request', () => {
  expect(new Set(CASES.map(({ task }) => task))).toEqual(new Set(SENDABLE_TASK_NAMES));
});

let lastId = 0;

interface RequestedCase {
  readonly testCase: TaskCase;
  readonly name: string;
  readonly order: Order;
}

/** Requests a task with a fault set, and approves or confirms it. */
async function requestCase(testCase: TaskCase, fault: Fault): Promise<RequestedCase> {
  lastId += 1;
  const { input, name, secret } = testCase.prepare(lastId);
  service.faults.set({ ...fault, match: { task: testCase.serviceTask, name } });
  const order = await rig.requestAccepted(testCase.task, input, { account: testCase.account, secret });
  if (order.state === 'PENDING') {
    const approved = await approveOrder(rig.orders, order.id, 'U0BOB');
    if (!approved.ok) throw new Error(refusalText(approved.refusal));
  }
  if (order.state === 'DRAFT') {
    const confirmed = await confirmOrder(rig.orders, order.id, 'U0ALICE');
    if (confirmed.kind !== 'confirmed') throw new Error(confirmed.kind);
  }
  return { testCase, name, order };
}

/** Executes the orders and their retries until none is due. */
async function executeUntilDone(all: readonly RequestedCase[]): Promise<void> {
  for (let round = 0; round < 25; round += 1) {
    const open = [];
    for (const each of all) if ((await rig.read(each.order.id)).state === 'APPROVED') open.push(each);
    if (open.length === 0) return;
    await Promise.all(open.map(({ order }) => rig.main.execute(order.id)));
    rig.advanceClock(16 * MINUTE_MS);
  }
  throw new Error('orders are retried forever');
}

/** Faults that leave the outcome unknown. */
const UNCLEAR_FAULT_KINDS = [
  ...JSON_FAULTS.filter((kind) => kind !== 'status_429'),
  'cut_xml',
  'trickle',
  'huge',
  'doctype',
] as const satisfies readonly FaultKind[];

const KINDS_WITH_CHOOSABLE_EFFECT = UNCLEAR_FAULT_KINDS.filter(
  (kind) => kind !== 'drop_before' && kind !== 'drop_after',
);

const unclearFaults: readonly (readonly [string, Fault])[] = [
  ...UNCLEAR_FAULT_KINDS.map((kind): [string, Fault] => [kind, { kind }]),
  ...KINDS_WITH_CHOOSABLE_EFFECT.map((kind): [string, Fault] => [
    `${kind}, ${isCarriedOut({ kind }) ? 'not ' : ''}carried out`,
    { kind, carriedOut: !isCarriedOut({ kind }) },
  ]),
  ['status_500 with an envelope', { kind: 'status_500', envelope: true }],
  ['status_503 with an envelope, carried out', { kind: 'status_503', envelope: true, carriedOut: true }],
  ['drop_before with a reset', { kind: 'drop_before', reset: true }],
  ['drop_after with a reset', { kind: 'drop_after', reset: true }],
  ['cut_json, abruptly', { kind: 'cut_json', abrupt: true }],
  ['cut_xml, abruptly', { kind: 'cut_xml', abrupt: true }],
];

/** Whether a 2xx response arrives but can't be read. */
const hasUnreadableResponse = (fault: Fault) =>
  ['cut_json', 'cut_xml', 'html', 'huge', 'doctype', 'wrong_type'].includes(fault.kind) &&
  !('abrupt' in fault && fault.abrupt);

/** The account whose interface can have the fault, if only one can. */
const ONLY_ACCOUNT: Partial<Record<FaultKind, Account>> = { cut_json: ALICE, cut_xml: TINA, doctype: TINA };

function casesFor({ kind, carriedOut }: Fault): readonly TaskCase[] {
  const onlyAccount = ONLY_ACCOUNT[kind];
  return CASES.filter(
    ({ task, account }) =>
      (onlyAccount === undefined || account === onlyAccount) &&
      // Whether the first request was carried out matters only if it isn't retried.
      (carriedOut === undefined || !ORDER_TASKS[task].idempotent),
  );
}

const requestsOf = ({ testCase, name }: RequestedCase) =>
  service.requestsFor({ task: testCase.serviceTask, name });

/** Compares an order's outcome with the service's records. */
async function expectOutcome(each: RequestedCase, expected: string, requestCount: number): Promise<void> {
  const { testCase, name, order } = each;
  const description = `${testCase.task} by ${testCase.account.login}`;
  const { state, items } = await rig.read(order.id);
  const wasCarriedOut = testCase.wasCarriedOut(name);
  expect(state, `${description}: state`).toBe(expected);
  if (state === 'SUCCEEDED') expect(wasCarriedOut ?? true, `${description}: marked as done`).toBe(true);
  if (state === 'FAILED') expect(wasCarriedOut ?? false, `${description}: marked as failed`).toBe(false);
  expect(requestsOf(each), `${description}: requests`).toHaveLength(requestCount);
  expect(countChargesFor(service, name), `${description}: charges`).toBeLessThanOrEqual(1);
  const carriedOut = requestsOf(each).filter((request) => request.carriedOut).length;
  const { effect, idempotent } = ORDER_TASKS[testCase.task];
  if (effect === 'charge' || !idempotent)
    expect(carriedOut, `${description}: carried out`).toBeLessThanOrEqual(1);

  const history = await rig.store.loadHistory(order.id, 'system');
  const finished = history.findLast(({ kind }) => kind === 'finished');
  const current = await rig.read(order.id);
  const reply = finished && orderReply(current, finished, ['U0BOB']);
  const blocks = reply === undefined ? '' : JSON.stringify(reply.blocks);
  if (state === 'UNKNOWN') {
    expect(blocks, `${description}: the outcome`).toMatch(/outcome unknown/);
    expect(blocks, `${description}: the reason`).toMatch(
      /may have reached the service|service may have received it|doesn’t say clearly whether it was carried out/,
    );
    expect(blocks, `${description}: the next steps`).toMatch(/sent again automatically.*<@U0BOB>/s);
    expect(items[0]?.sentAt, `${description}: when it was sent`).toBeDefined();
  } else {
    expect(blocks, `${description}: a known outcome`).not.toMatch(/unknown|may have (?:reached|received)/);
  }
}

describe('after a fault that leaves the outcome unknown', () => {
  test.each(unclearFaults)('only idempotent tasks are retried: %s', async (_what, fault) => {
    // Responses that never end get a short timeout. Others get enough time on a busy machine.
    timeoutMs = fault.kind === 'hang' || fault.kind === 'trickle' ? 700 : 5_000;
    const all = await Promise.all(casesFor(fault).map((of) => requestCase(of, { ...fault, times: 1 })));
    await executeUntilDone(all);
    service.faults.clear();
    for (const each of all) {
      // An idempotent request isn't retried after an unreadable response, because the next one would be too.
      const isRetried = ORDER_TASKS[each.testCase.task].idempotent && !hasUnreadableResponse(fault);
      await expectOutcome(each, isRetried ? 'SUCCEEDED' : 'UNKNOWN', isRetried ? 2 : 1);
    }
  });

  test('every task stays unknown if the fault persists, after three retries if idempotent', async () => {
    timeoutMs = 5_000;
    const all = await Promise.all(CASES.map((of) => requestCase(of, { kind: 'drop_after' })));
    await executeUntilDone(all);
    service.faults.clear();
    for (const each of all)
      await expectOutcome(each, 'UNKNOWN', ORDER_TASKS[each.testCase.task].idempotent ? 4 : 1);
  });
});

test('an order stays unknown if its retry is refused', async () => {
  timeoutMs = 5_000;
  const idempotentCases = CASES.filter(({ task }) => ORDER_TASKS[task].idempotent);
  const all = await Promise.all(
    idempotentCases.map((of) => requestCase(of, { kind: 'drop_after', times: 1 })),
  );
  for (const { testCase, name } of all) {
    const match = { task: testCase.serviceTask, name };
    service.faults.set({ kind: 'refuse', code: 'EF01017', text: 'Locked', times: 1, match });
  }
  await executeUntilDone(all);
  for (const each of all) {
    await expectOutcome(each, 'UNKNOWN', 2);
    expect(
      each.testCase.wasCarriedOut(each.name),
      `${each.testCase.task}: the first request was carried out`,
    ).toBe(true);
  }
});

describe('after a fault that leaves the outcome known', () => {
  const knownOutcomes: readonly (readonly [string, Fault, string, number])[] = [
    ['a slow response', { kind: 'slow', delayMs: 100 }, 'SUCCEEDED', 1],
    ['a refusal', { kind: 'refuse', code: 'EF01017', text: 'Not today' }, 'FAILED', 1],
    [
      'a refusal with HTTP 422',
      { kind: 'refuse', code: 'EF01017', text: 'No', httpStatus: 422 },
      'FAILED',
      1,
    ],
    ['a busy service, once', { kind: 'status_429', times: 1 }, 'SUCCEEDED', 2],
  ];

  test.each(knownOutcomes)('orders have the right outcome: %s', async (_what, fault, expected, sent) => {
    timeoutMs = 5_000;
    const all = await Promise.all(CASES.map((of) => requestCase(of, fault)));
    await executeUntilDone(all);
    service.faults.clear();
    for (const each of all) await expectOutcome(each, expected, sent);
  });

  test('requests to a busy service are retried for hours, then the order fails', async () => {
    timeoutMs = 5_000;
    const renewalAndNameserverCases = CASES.filter(({ task }) => task === 'renew' || task === 'nameservers');
    const all = await Promise.all(
      renewalAndNameserverCases.map((of) => requestCase(of, { kind: 'status_429' })),
    );
    await executeUntilDone(all);
    service.faults.clear();
    for (const each of all) await expectOutcome(each, 'FAILED', 21);
  });
});

describe('a failed login', () => {
  test.each(JSON_FAULTS)('with %s delays the request, which is then sent once', async (kind) => {
    timeoutMs = kind === 'hang' ? 700 : 5_000;
    jsonAuth = 'session';
    try {
      await endClients();
      const renewalAndDeletionCases = CASES.filter(({ task }) => task === 'renew' || task === 'delete');
      const all = await Promise.all(
        renewalAndDeletionCases.map((of) => requestCase(of, { kind: 'slow', delayMs: 1, times: 1 })),
      );
      service.faults.clear();
      service.faults.set({ kind, times: 1, match: { task: 'session.create' } });
      await executeUntilDone(all);
      for (const each of all) await expectOutcome(each, 'SUCCEEDED', 1);
    } finally {
      jsonAuth = 'basic';
      service.faults.clear();
    }
  });
});

describe('a search for preregistrations', () => {
  const KINDS = [...JSON_FAULTS.filter((kind) => kind !== 'hang'), 'cut_xml', 'huge', 'doctype'] as const;

  const t = useTestDemo();

  test('that fails reports that nothing changed, without results', async () => {
    await linkTwoFactor(t.workspace, t.carol);
    for (const kind of KINDS) {
      for (const person of [t.alice, t.carol]) {
        const onlyAccount = ONLY_ACCOUNT[kind];
        if (onlyAccount !== undefined && (onlyAccount === ALICE) !== (person.user.id === 'U0ALICE')) continue;
        t.service.faults.set({ kind, times: 1, match: { task: 'prereg.search' } });
        const reply = await readCommandReply(t.workspace, person, '/domain prereg table-001.rest');
        const description = `${kind}, reply to ${person.user.real_name}`;
        expect(reply, description).toMatch(/Nothing changed|The service is busy/);
        expect(reply, description).not.toMatch(/table-001|No preregistrations|Reference/);
        expect(t.service.faults.list(), `${description}: remaining faults`).toEqual([]);
      }
    }
  });
});
