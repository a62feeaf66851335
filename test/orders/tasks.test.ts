import { describe, expect, it } from 'vitest';
import { DEFAULT_APPROVAL_TASKS, type OrderTaskName } from '../../src/orders/order.ts';
import { saltSecret } from '../../src/orders/salted-secret.ts';
import { buildStatement } from '../../src/orders/statement.ts';
import {
  getOrderTask,
  MAX_NAMES,
  ORDER_TASKS,
  SENDABLE_TASK_NAMES,
  type SendableTaskName,
} from '../../src/orders/tasks.ts';
import type { WireValue } from '../../src/service/codec/wire.ts';
import { Secret } from '../../src/service/secret.ts';
import type { RequestDescription } from '../../src/service/task.ts';
import { type FieldError, toFieldErrors } from '../../src/slack/orders/input-issue.view.ts';
import { formatTaskNote } from '../../src/slack/orders/task-notes.view.ts';
import fc from '../support/properties.ts';
import { ENDPOINTS, newOrder } from './sample.ts';
import { ScriptedService, SUCCESS_ENVELOPE } from './scripted-service.ts';

const contacts = { ownerc: '101', adminc: ' 102 ', techc: 103 };
const contactIds = { ownerc: { id: 101 }, adminc: { id: 102 }, techc: { id: 103 } };
const nameServers = ['NS1.example.com', 'ns2.example.net.'];
const normalizedNameServers = [{ name: 'ns1.example.com' }, { name: 'ns2.example.net' }];

const newJsonRequest = (
  method: Extract<RequestDescription, { interface: 'json' }>['method'],
  path: string,
  body?: WireValue,
): RequestDescription => ({ interface: 'json', method, path, ...(body === undefined ? {} : { body }) });

interface Sample {
  /** As people type it. */
  readonly typed: Readonly<Record<string, unknown>>;
  readonly names: readonly string[];
  /** The task of the service, and the request for the first name. */
  readonly service: string;
  readonly sent: RequestDescription;
  readonly secret?: Secret;
}

/** A valid order of every task. */
const SAMPLES: Readonly<Record<SendableTaskName, Sample>> = {
  create: {
    typed: { name: ' Café.REST. ', ...contacts, nameServers },
    names: ['xn--caf-dma.rest'],
    service: 'domain.create',
    sent: newJsonRequest('POST', '/domain', {
      name: 'xn--caf-dma.rest',
      ...contactIds,
      nameServers: normalizedNameServers,
      confirmOrder: true,
    }),
  },
  transfer: {
    typed: { name: 'cafe.rest', ...contacts, nameServers },
    names: ['cafe.rest'],
    secret: new Secret('the auth code'),
    service: 'domain.transfer',
    sent: newJsonRequest('POST', '/domain/_transfer', {
      name: 'cafe.rest',
      auth: new Secret('the auth code'),
      ...contactIds,
      nameServers: normalizedNameServers,
    }),
  },
  renew: {
    typed: { names: ['cafe.rest', 'BAR.rest', 'cafe.rest.'], period: '2' },
    names: ['cafe.rest', 'bar.rest'],
    service: 'domain.renew',
    sent: newJsonRequest('POST', '/domain/cafe.rest/_renew', { period: 2 }),
  },
  restore: {
    typed: { name: 'cafe.rest' },
    names: ['cafe.rest'],
    service: 'domain.restore',
    sent: newJsonRequest('POST', '/domain/cafe.rest/_restore'),
  },
  delete: {
    typed: { name: 'cafe.rest' },
    names: ['cafe.rest'],
    service: 'domain.delete',
    sent: newJsonRequest('DELETE', '/domain/cafe.rest'),
  },
  nameservers: {
    typed: { name: 'cafe.rest', nameServers },
    names: ['cafe.rest'],
    service: 'domain.updateNameservers',
    sent: newJsonRequest('PUT', '/domain/cafe.rest', { nameServers: normalizedNameServers }),
  },
  authcode: {
    typed: { name: 'cafe.rest' },
    names: ['cafe.rest'],
    service: 'domain.authInfo',
    sent: newJsonRequest('POST', '/domain/cafe.rest/_authinfo1'),
  },
  'owner-change': {
    typed: { name: 'cafe.rest' },
    names: ['cafe.rest'],
    service: 'domain.ownerChange',
    sent: newJsonRequest('POST', '/domain/cafe.rest/_ownerChange'),
  },
  redirect: {
    typed: {
      source: 'WWW.cafe.rest',
      target: ' https://www.example.com/menu ',
      type: 'DOMAIN',
      mode: 'HTTP',
      title: ' ',
      backup: '',
    },
    names: ['www.cafe.rest'],
    service: 'redirect.update',
    sent: newJsonRequest('PUT', '/redirect/www.cafe.rest', {
      source: 'www.cafe.rest',
      target: 'https://www.example.com/menu',
      type: 'DOMAIN',
      mode: 'HTTP',
    }),
  },
  'ssl-contact': {
    typed: {
      id: '4711',
      fname: 'Anna',
      lname: '',
      address: [' Main Street 1 ', 'Back yard'],
      country: 'de',
      phone: '+49-30-5550100',
      email: '',
    },
    names: ['4711'],
    service: 'sslContact.update',
    sent: newJsonRequest('PUT', '/sslcontact/4711', {
      fname: 'Anna',
      address: ['Main Street 1', 'Back yard'],
      country: 'DE',
      phone: '+49-30-5550100',
    }),
  },
  user: {
    typed: {
      user: 'anna',
      context: '4',
      defaultEmail: 'anna@example.com',
      language: 'EN',
      status: '1',
      parent: { user: 'boss', context: 4, substatus: '2' },
    },
    names: ['anna'],
    secret: new Secret('hunter2'),
    service: 'user.create',
    sent: newJsonRequest('POST', '/user', {
      user: 'anna',
      context: 4,
      defaultEmail: 'anna@example.com',
      password: new Secret('hunter2'),
      status: 1,
      language: 'en',
      parent: { context: 4, substatus: 2, authType: 'PASSWORD', lock: 'NONE', user: 'boss' },
    }),
  },
};

/** The first item of a sample's stored statement, with everything needed to send it. */
function buildStatedItem(task: SendableTaskName) {
  const { typed, names, secret } = SAMPLES[task];
  const input: unknown = JSON.parse(JSON.stringify(checkInput(task, typed).input));
  const salted = secret && saltSecret(secret);
  const order = newOrder(names, { id: 'order1', task, input, secretHash: salted?.hash });
  const [item] = buildStatement(order, ENDPOINTS).items;
  if (item === undefined) throw new Error('the statement has no items');
  const secrets = new Map(secret && salted ? [[salted.hash, secret]] : []);
  return { item: { ...item, ctid: 'order1.1' }, secrets, replyTo: undefined };
}

function checkInput(task: OrderTaskName, input: unknown) {
  const result = getOrderTask(task).check(input);
  if (!result.ok) throw new Error(`${task} was refused: ${JSON.stringify(result.issues)}`);
  return result;
}

function listProblems(task: OrderTaskName, input: unknown): readonly FieldError[] {
  const result = getOrderTask(task).check(input);
  return result.ok ? [] : toFieldErrors(result.issues);
}

describe('the properties of a task', () => {
  it.each<
    [SendableTaskName, effect: string, idempotent: boolean, needsConfirmation: boolean, secret: string]
  >([
    ['create', 'charge', false, false, ''],
    ['transfer', 'charge', false, false, 'auth'],
    ['renew', 'charge', false, false, ''],
    ['restore', 'charge', false, false, ''],
    ['delete', 'write', false, true, ''],
    ['nameservers', 'write', true, true, ''],
    ['authcode', 'write', false, false, 'result'],
    ['owner-change', 'write', false, true, ''],
    ['redirect', 'write', true, false, ''],
    ['ssl-contact', 'write', true, false, ''],
    ['user', 'write', false, false, 'password, result'],
  ])(
    'of %s are: %s, idempotent: %s, needs confirmation: %s, secrets: %s',
    (name, effect, idempotent, needsConfirmation, secret) => {
      const task = getOrderTask(name);
      expect(task).toMatchObject({ name, effect, idempotent, needsConfirmation });
      expect([task.secretField, ...(task.hasSecretResult ? ['result'] : [])].filter(Boolean).join(', ')).toBe(
        secret,
      );
    },
  );

  it('are listed under its name', () => {
    expect(Object.keys(ORDER_TASKS)).toEqual([...SENDABLE_TASK_NAMES, 'mandate']);
  });

  it('include the risk to a name', () => {
    const risky = Object.values(ORDER_TASKS).filter(({ risk }) => risk !== 'none');
    expect(Object.fromEntries(risky.map(({ name, risk }) => [name, risk]))).toEqual({
      delete: 'loses_name',
      nameservers: 'takes_down',
      authcode: 'loses_name',
      'owner-change': 'loses_name',
    });
  });

  it('never make a paid task idempotent', () => {
    const charges = Object.values(ORDER_TASKS).filter(({ effect }) => effect === 'charge');
    expect(charges.map(({ idempotent }) => idempotent)).not.toContain(true);
  });
});

describe.each(SENDABLE_TASK_NAMES)('an order to %s', (name) => {
  const sample = SAMPLES[name];

  it('is accepted as people type it', () => {
    expect(checkInput(name, sample.typed).names).toEqual(sample.names);
  });

  it('is unchanged when it is checked again after storing', () => {
    const first = checkInput(name, sample.typed);
    expect(checkInput(name, JSON.parse(JSON.stringify(first.input)))).toEqual(first);
  });

  it('is sent in the service’s format', async () => {
    const service = new ScriptedService();
    const steps: string[] = [];
    const call = getOrderTask(name).beginCall(service.client, {
      ...buildStatedItem(name),
      signal: new AbortController().signal,
    });
    await call.sign();
    steps.push(`before ${service.received.length + 1}`);
    const clock = () => {
      steps.push('at the first byte');
      return 0;
    };
    await call.send({ epochMs: 0, clock });
    expect(service.received).toEqual([{ task: sample.service, ctid: 'order1.1', description: sample.sent }]);
    expect(reveal(service.received[0]?.description)).toEqual(reveal(sample.sent));
    expect(steps).toEqual(['before 1', 'at the first byte']);
  });

  it('is refused without throwing for invalid input', () => {
    const anything = fc.oneof(
      fc.anything({ withBigInt: true, withDate: true, withMap: true, withNullPrototype: true }),
      // A valid order with one or two invalid fields.
      fc
        .record({
          fields: fc.subarray(Object.keys(sample.typed), { minLength: 1 }),
          invalidValue: fc.oneof(fc.anything(), fc.constant(undefined), fc.string({ unit: anyCharacter })),
        })
        .map(({ fields, invalidValue }) => ({
          ...sample.typed,
          ...Object.fromEntries(fields.map((field) => [field, invalidValue])),
        })),
    );
    fc.assert(
      fc.property(anything, (input) => {
        const result = getOrderTask(name).check(input);
        if (result.ok) {
          // Random input may be valid. If so, it is still valid after storing.
          const recheck = getOrderTask(name).check(JSON.parse(JSON.stringify(result.input)));
          if (!recheck.ok) throw new Error(`accepted, then refused: ${JSON.stringify(recheck.issues)}`);
          return;
        }
        if (result.issues.length === 0) throw new Error('refused without a reason');
        for (const { text } of toFieldErrors(result.issues)) {
          if (!isPlainSentence(text)) throw new Error(`not a sentence for people: ${JSON.stringify(text)}`);
        }
      }),
      { numRuns: 100 },
    );
  });
});

describe('the names of an incomplete input', () => {
  it('are read before the rest is complete', () => {
    expect(
      getOrderTask('transfer').findNames({ name: 'Bücher.rest', ownerc: undefined, techc: 'x' }),
    ).toEqual(['xn--bcher-kva.rest']);
    expect(getOrderTask('renew').findNames({ names: ['cafe.rest', 'bar.rest'], period: 'x' })).toEqual([
      'cafe.rest',
      'bar.rest',
    ]);
    expect(getOrderTask('redirect').findNames({ source: 'www.cafe.rest' })).toEqual(['www.cafe.rest']);
  });

  it('are empty if they can’t be read', () => {
    expect(getOrderTask('transfer').findNames({ name: 'under_score.rest' })).toEqual([]);
    expect(getOrderTask('renew').findNames({ names: 3 })).toEqual([]);
    expect(getOrderTask('user').findNames(undefined)).toEqual([]);
  });
});

/** Any code point, including surrogate halves. */
const anyCharacter = fc.nat(0x10_ff_ff).map((code) => String.fromCodePoint(code));

/** Whether a text is a complete sentence for people, without technical words. */
function isPlainSentence(problem: string): boolean {
  return (
    /^\P{Ll}.*[.!]$/su.test(problem) &&
    !/invalid input|expected|received|undefined|\bnull\b|NaN|\[object|regex|too (big|small)/i.test(problem)
  );
}

/** A copy with readable secrets, because all secrets compare as equal. */
function reveal(value: unknown): unknown {
  if (value instanceof Secret) return { revealed: value.reveal() };
  if (Array.isArray(value)) return value.map(reveal);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, reveal(inner)]));
}

describe('problems in a form', () => {
  const tooManyNames = Array.from({ length: MAX_NAMES + 1 }, (_, index) => `name${index}.rest`);
  it.each<[SendableTaskName, change: Record<string, unknown>, field: string, problem: RegExp]>([
    ['renew', { names: [] }, 'names', /at least one name/],
    ['renew', { names: ['cafe'] }, 'names', /full name/],
    ['renew', { names: ['a.cafe.rest'] }, 'names', /is a subdomain of cafe\.rest/],
    ['renew', { names: tooManyNames }, 'names', /at most 50 names/],
    ['renew', { period: '0' }, 'period', /from 1 to 10/],
    ['renew', { period: 11 }, 'period', /from 1 to 10/],
    ['renew', { period: '1.5' }, 'period', /whole years/],
    ['renew', { period: '1e1' }, 'period', /whole years/],
    ['renew', { period: '' }, 'period', /whole years/],
    ['create', { ownerc: '0' }, 'ownerc', /above 0/],
    ['create', { adminc: 'anna' }, 'adminc', /contact’s ID/],
    ['create', { techc: '99999999999' }, 'techc', /too large/],
    ['create', { nameServers: ['ns1.example.com'] }, 'nameServers', /2 to 7/],
    ['create', { nameServers: [...nameServers, 'ns1.example.com'] }, 'nameServers', /more than once/],
    ['transfer', { nameServers: ['10.0.0.1', 'ns.example.com'] }, 'nameServers', /IP address/],
    ['create', { name: 'кафе.rest' }, 'name', /letters that \.rest doesn’t allow/],
    ['redirect', { source: 'two words' }, 'source', /Leave out spaces/],
    ['redirect', { target: 'javascript:alert(1)' }, 'target', /web address/],
    ['redirect', { type: 'email', target: 'https://x.example' }, 'target', /email address/],
    ['redirect', { backup: 'nowhere' }, 'backup', /web address/],
    ['redirect', { type: 'WEB' }, 'type', /Choose a type/],
    ['redirect', { mode: 'POP' }, 'mode', /Choose a mode/],
    ['redirect', { title: 'a\u0000b' }, 'title', /invisible character/],
    ['ssl-contact', { country: 'Germany' }, 'country', /two-letter/],
    ['ssl-contact', { phone: '030 5550100' }, 'phone', /international/],
    ['ssl-contact', { email: 'anna@' }, 'email', /email address/],
    ['ssl-contact', { id: ' ' }, 'id', /ID/],
    ['ssl-contact', { address: ['Street 1', ' '] }, 'address', /Remove the empty lines/],
    ['user', { user: 'an:na' }, 'user', /colon/],
    ['user', { context: '0' }, 'context', /context number/],
    ['user', { defaultEmail: 'anna' }, 'defaultEmail', /email address/],
    ['user', { status: '-1' }, 'status', /0 or more/],
    ['user', { parent: { user: '', context: 4 } }, 'parent_user', /parent user/],
    ['user', { parent: { user: 'boss' } }, 'parent_context', /context number/],
  ])('of %s with %j are shown at %s', (task, change, field, problem) => {
    const problems = listProblems(task, { ...SAMPLES[task].typed, ...change });
    expect(problems.map((each) => each.field)).toContain(field);
    expect(problems.find((each) => each.field === field)?.text).toMatch(problem);
  });

  it('are all shown at once', () => {
    const problems = listProblems('create', {
      ...SAMPLES.create.typed,
      name: '-x.rest',
      ownerc: '',
      techc: 'x',
    });
    expect(problems.map(({ field }) => field)).toEqual(['name', 'ownerc', 'techc']);
    const both = listProblems('renew', { names: ['good.rest', 'bad', 'a.b.rest'], period: 1 });
    expect(both).toHaveLength(2);
    const fields = (task: SendableTaskName, change: object) =>
      listProblems(task, { ...SAMPLES[task].typed, ...change }).map(({ field }) => field);
    expect(fields('renew', { names: ['-bad-'], period: '0' })).toEqual(['names', 'period']);
    expect(fields('create', { ownerc: '', nameServers: ['ns.example.com'] })).toEqual([
      'ownerc',
      'nameServers',
    ]);
    expect(fields('redirect', { source: '', target: 'nowhere', backup: 'no' })).toEqual([
      'source',
      'target',
      'backup',
    ]);
    expect(fields('ssl-contact', { fname: '\0', country: 'Germany' })).toEqual(['fname', 'country']);
  });

  it('include an SSL contact without a field to change', () => {
    expect(listProblems('ssl-contact', { id: '4711', title: ' ' })).toEqual([
      { field: 'organization', text: 'Fill in at least one field to change.' },
    ]);
  });

  it('include a period that the zone of a name doesn’t allow', () => {
    expect(listProblems('renew', { names: ['cafe.rest', 'example.com'], period: 11 })).toHaveLength(1);
  });

  it('don’t include valid input for a zone without a profile', () => {
    const order = { ...SAMPLES.create.typed, name: 'shop.example', nameServers: ['ns1.example.com'] };
    expect(listProblems('create', order)).toEqual([]);
  });
});

describe('notes for approvers', () => {
  it.each<[SendableTaskName, RegExp]>([
    ['create', /costs money.*premium|costs money.*Short or generic.*60 days/s],
    ['transfer', /costs money.*5 days.*renews/s],
    ['renew', /costs money/],
    ['restore', /costs money.*by hand/s],
    ['delete', /restored for 30 days/],
    ['nameservers', /replaces all nameservers/],
    ['authcode', /transfer the name away/],
    ['owner-change', /notified.*60 days/s],
  ])('describe %s', (task, notes) => {
    expect(getOrderTask(task).listNotes(['cafe.rest']).map(formatTaskNote).join('\n')).toMatch(notes);
  });

  it('are listed once for several names', () => {
    const notes = getOrderTask('renew').listNotes(['a.rest', 'b.rest', 'c.example']);
    expect(notes.map(({ code }) => code).toSorted()).toEqual([
      'charge_assumed',
      'costs_money',
      'period_assumed_in_years',
      'premium_names',
      'zone_not_documented',
    ]);
  });

  it('don’t include the zone’s notes for a task without notes', () => {
    expect(getOrderTask('redirect').listNotes(['www.cafe.rest'])).toEqual([]);
  });

  it('include that a registration is confirmed at the service', () => {
    expect(getOrderTask('create').listNotes(['cafe.rest'])).toContainEqual({ code: 'sent_as_confirmed' });
  });
});

describe('an input that only one interface documents', () => {
  const BOTH = { json: true, xml: true };

  it.each<[input: object, interfaces: typeof BOTH, codes: readonly string[]]>([
    [{}, BOTH, []],
    [{ mode: 'HTTP' }, BOTH, []],
    [{ mode: 'HTTP' }, { json: false, xml: true }, ['interface_out_of_reach']],
    [{ title: 'Café' }, BOTH, []],
    [{ title: 'Café' }, { json: true, xml: false }, ['interface_out_of_reach']],
    [{ mode: 'HTTP', title: 'Café' }, BOTH, ['interfaces_conflict']],
  ])('(%j) with the interfaces %j has the issues %j', (input, interfaces, codes) => {
    expect(
      getOrderTask('redirect')
        .findInterfaceIssues(interfaces, input)
        .map(({ code }) => code),
    ).toEqual(codes);
  });

  it('uses that interface, while other inputs use JSON if possible', () => {
    const findInterface = (name: SendableTaskName, change: object, interfaces = BOTH) => {
      const { input, names } = checkInput(name, { ...SAMPLES[name].typed, ...change });
      const requested = { input, name: names[0] ?? '', secret: undefined };
      return getOrderTask(name).describeRequest(requested, interfaces).interface;
    };
    expect(findInterface('renew', {})).toBe('json');
    expect(findInterface('ssl-contact', { fname: '' }, { json: false, xml: true })).toBe('xml');
    expect(findInterface('redirect', { title: 'Café', mode: 'frame' })).toBe('xml');
    expect(findInterface('redirect', { mode: 'HTTP' })).toBe('json');
  });
});

describe('a retry', () => {
  it('requests only the failed names', () => {
    const { input } = checkInput('renew', { names: ['a.rest', 'b.rest', 'c.rest'], period: 3 });
    expect(getOrderTask('renew').restrictInput(input, ['b.rest'])).toEqual({ names: ['b.rest'], period: 3 });
  });

  it('has the same input for a task with one name', () => {
    for (const name of SENDABLE_TASK_NAMES) {
      if (name === 'renew') continue;
      const { input, names } = checkInput(name, SAMPLES[name].typed);
      expect(getOrderTask(name).restrictInput(input, names), name).toEqual(input);
    }
  });
});

describe('the output of a task', () => {
  const send = async (name: SendableTaskName, envelope = SUCCESS_ENVELOPE) => {
    const service = new ScriptedService();
    service.answer = async () => envelope;
    const call = getOrderTask(name).beginCall(service.client, {
      ...buildStatedItem(name),
      signal: new AbortController().signal,
    });
    const answer = await call.send();
    if (answer.kind !== 'answered') throw answer.refusal;
    return { envelope: answer.envelope, secret: answer.output };
  };

  it('has the auth code as a secret, in a known field or not, but not in the envelope', async () => {
    const recognized = await send('authcode', { ...SUCCESS_ENVELOPE, data: [{ authInfo: 'canary-1' }] });
    expect(recognized.secret?.reveal()).toBe('canary-1');
    const unrecognized = await send('authcode', { ...SUCCESS_ENVELOPE, data: [{ epp: 'canary-1' }] });
    expect(unrecognized.secret?.reveal()).toContain('canary-1');
    expect(JSON.stringify([recognized.envelope, unrecognized.envelope])).not.toContain('canary');
  });

  it('has a secret for a user only if the service generated the password', async () => {
    expect((await send('user')).secret).toBeUndefined();
    const generated = await send('user', {
      ...SUCCESS_ENVELOPE,
      messages: [{ code: 'MSG13004', objects: [{ type: 'password', value: 'canary-2' }] }],
    });
    expect(generated.secret?.reveal()).toBe('canary-2');
  });

  it('has no secret for any other task', async () => {
    for (const name of SENDABLE_TASK_NAMES) {
      if (getOrderTask(name).hasSecretResult) continue;
      expect((await send(name)).secret, name).toBeUndefined();
    }
  });

  it('isn’t requested for a transfer without its auth code', async () => {
    const service = new ScriptedService();
    const begin = () =>
      getOrderTask('transfer').beginCall(service.client, {
        ...buildStatedItem('transfer'),
        secrets: new Map(),
        signal: new AbortController().signal,
      });
    expect(begin).toThrow(/a secret of the request is missing/);
    expect(service.received).toEqual([]);
  });
});

describe('the interface that an input needs', () => {
  const redirect = { source: 'www.cafe.rest', target: 'https://cafe.example/', type: 'domain' };

  it.each([
    ['redirect', { ...redirect, type: 'email' }, 'xml', ['type']],
    ['redirect', { ...redirect, mode: 'frame' }, 'xml', ['mode']],
    ['redirect', { ...redirect, mode: 'single' }, 'xml', ['mode']],
    ['redirect', { ...redirect, title: 'Menu' }, 'xml', ['title']],
    ['redirect', { ...redirect, backup: 'https://b.example/' }, 'xml', ['backup']],
    ['redirect', { ...redirect, mode: 'HTTP' }, 'json', ['mode']],
    ['ssl-contact', { id: '1', fname: 'Kim', lname: 'Lee' }, 'json', ['fname', 'lname']],
    ['ssl-contact', { id: '1', interface: 'xml' }, 'xml', ['interface']],
    ['user', { user: 'kim', user_mail_key: 'welcome' }, 'xml', ['user_mail_key']],
    ['user', { user: 'kim', interface: 'json' }, 'json', ['interface']],
    [
      'user',
      { user: 'kim', parent: { user: 'p', defaultEmail: 'p@x.example', status: 1, substatus: 0 } },
      'json',
      ['parent_defaultEmail', 'parent_status', 'parent_substatus'],
    ],
  ] as const)('for %s with %j is %s', (task, input, interfaceName, fields) => {
    const constraints = getOrderTask(task).findConstraints(input);
    expect(constraints[interfaceName].map(({ field }) => field)).toEqual(fields);
    expect(constraints[interfaceName === 'xml' ? 'json' : 'xml']).toEqual([]);
  });

  it.each([
    ['redirect', redirect],
    ['ssl-contact', { id: '1', title: 'Dr', fname: '' }],
    ['user', { user: 'kim', parent: { user: 'p', context: 4 } }],
    ['renew', { names: ['cafe.rest'], period: 1 }],
  ] as const)('for %s with %j can be either', (task, input) => {
    expect(getOrderTask(task).findConstraints(input)).toEqual({ json: [], xml: [] });
  });
});

it('paid tasks and tasks that put a name at risk need approval by default', () => {
  const risky = Object.values(ORDER_TASKS).filter(
    ({ effect, risk }) => effect === 'charge' || risk !== 'none',
  );
  expect(DEFAULT_APPROVAL_TASKS).toEqual(risky.map(({ name }) => name));
});
