import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { approveOrder } from '../../src/approvals/approve.ts';
import { confirmOrder } from '../../src/orders/confirm-draft.ts';
import type { OrderTaskName } from '../../src/orders/order.ts';
import { buildStatement } from '../../src/orders/statement.ts';
import type { StatementRequest, StatementValue } from '../../src/orders/statement-shape.ts';
import { SENDABLE_TASK_NAMES, type SendableTaskName } from '../../src/orders/tasks.ts';
import { type Credential, getCredentialAccount } from '../../src/service/authenticator/signature.ts';
import type { ServiceClient } from '../../src/service/client.ts';
import { Secret } from '../../src/service/secret.ts';
import {
  applicationCredential,
  createTestClient,
  passwordCredential,
  twoFactorCredential,
} from '../service/clients.ts';
import {
  buildHttpResponse,
  buildOkJson,
  buildXmlResponse,
  getXmlSuccessCode,
  type RawRequest,
  type RawService,
  startRawService,
} from '../service/raw-service.ts';
import fc, { runs } from '../support/properties.ts';
import { ALICE, type Rig, startRig } from './rig.ts';

/* Sent requests match their statements byte by byte, for every task, every field and both interfaces. */

const SESSION_HASH = '1b4e28ba-2fa1-11d2-883f-0016d3cca427';
const REPLY_TO = 'https://reply.example/?to=a b';
const TIMEOUT_MS = 180_000;

let service: RawService;
let rig: Rig;
let client: ServiceClient;

beforeAll(async () => {
  service = await startRawService((request, socket) => {
    const isXml = request.line.startsWith('POST /xml');
    const answer = isXml
      ? buildXmlResponse(getXmlSuccessCode(request), `<hash>${SESSION_HASH}</hash>`)
      : buildOkJson(request);
    socket.write(buildHttpResponse(200, answer));
  });
  const endpoints = { jsonUrl: `${service.origin}/v1`, xmlUrl: `${service.origin}/xml`, replyTo: REPLY_TO };
  rig = await startRig({ client: () => client, endpoints });
});
beforeEach(() => rig.reset());
afterAll(async () => {
  await rig.end();
  await service.close();
});

const text = fc
  .oneof(
    fc.string({ unit: 'grapheme', minLength: 1, maxLength: 40 }),
    fc.constantFrom('<a>&"\'', 'ünïcode 🦊', '{"secret":"sha256:0"}', ']]>', '%2F../?#', '\\u0000'),
  )
  .map((typed) => typed.replace(/[\p{Cc}\p{Cs}\ufffe\uffff]/gu, '').trim())
  .filter((typed) => typed !== '');
const label = fc.stringMatching(/^[a-z][a-z0-9]{2,8}$/);
const name = label.map((each) => `${each}.rest`);
const hosts = fc.uniqueArray(
  label.map((each) => `${each}.dns.example`),
  { minLength: 2, maxLength: 6 },
);
const contact = fc.integer({ min: 1, max: 2_147_483_647 });
const smallNumber = fc.integer({ min: 1, max: 99 });
const mail = label.map((each) => `${each}@team.example`);
const url = fc
  .tuple(label, fc.stringMatching(/^[a-z0-9%/?&=<>'";-]{0,30}$/))
  .map(([host, path]) => `https://${host}.example/${path}`);
const country = fc.constantFrom('DE', 'fr');
const phone = fc.constantFrom('+49-30-5550100', '+1 (415) 555.0100');
const delegation = fc.record({ name, ownerc: contact, adminc: contact, techc: contact, nameServers: hosts });
/** Makes every field optional, so that the rest may use the other interface. */
const optional = <T>(fields: { readonly [K in keyof T]: fc.Arbitrary<T[K]> }) =>
  fc.record(fields, { requiredKeys: [] });

const OVER_XML = fc.record({ interface: fc.constant('xml') });
const parentUser = (optionalFields: fc.Arbitrary<object>) =>
  fc
    .tuple(fc.record({ user: label, context: smallNumber }), optionalFields)
    .map(([needed, rest]) => ({ ...needed, ...rest }));

const INPUTS: Readonly<Record<SendableTaskName, fc.Arbitrary<object>>> = {
  create: delegation,
  transfer: delegation,
  renew: fc.record({
    names: fc.uniqueArray(name, { minLength: 1, maxLength: 3 }),
    period: fc.integer({ min: 1, max: 10 }),
  }),
  restore: fc.record({ name }),
  delete: fc.record({ name }),
  nameservers: fc.record({ name, nameServers: hosts }),
  authcode: fc.record({ name }),
  'owner-change': fc.record({ name }),
  redirect: fc.oneof(
    fc.record({
      source: name,
      target: url,
      type: fc.constantFrom('DOMAIN', 'domain'),
      mode: fc.constant('HTTP'),
    }),
    fc
      .tuple(
        fc.record({
          source: name,
          target: url,
          type: fc.constant('domain'),
          mode: fc.constantFrom('frame', 'single'),
        }),
        optional({ title: text, backup: url }),
      )
      .map(([needed, more]) => ({ ...needed, ...more })),
    fc.record({
      source: mail.map((each) => each.replace('team.example', 'cafe.rest')),
      target: mail,
      type: fc.constant('email'),
      mode: fc.constantFrom('frame', 'single'),
    }),
  ),
  'ssl-contact': fc
    .tuple(
      fc.record({ id: contact, organization: text }),
      optional({
        title: text,
        address: fc.array(text, { minLength: 1, maxLength: 3 }),
        pcode: smallNumber.map(String),
        city: text,
        country,
        state: text,
        phone,
        fax: text,
        email: mail,
      }),
      fc.oneof(optional({ interface: fc.constant('json'), fname: text, lname: text }), OVER_XML),
    )
    .map((parts) => Object.assign({}, ...parts)),
  user: fc
    .tuple(
      fc.record({ user: label, context: smallNumber, defaultEmail: mail }),
      optional({ language: fc.constantFrom('en', 'DE'), status: smallNumber, substatus: smallNumber }),
      fc.oneof(
        optional({
          interface: fc.constant('json'),
          parent: parentUser(optional({ defaultEmail: mail, status: smallNumber, substatus: smallNumber })),
        }),
        fc
          .tuple(OVER_XML, optional({ user_mail_key: label, parent: parentUser(fc.constant({})) }))
          .map((parts) => Object.assign({}, ...parts)),
      ),
    )
    .map((parts) => Object.assign({}, ...parts)),
};

const TASKS_REQUIRING_SECRET: ReadonlySet<OrderTaskName> = new Set(['transfer']);
const TASKS_WITH_SECRET: ReadonlySet<OrderTaskName> = new Set(['transfer', 'user']);

/** Replaces a stated secret's hash with the secret, as in the sent request. */
function insertSecret(value: StatementValue, secret: string): StatementValue {
  if (typeof value !== 'object') return value;
  if (Array.isArray(value)) return value.map((each: StatementValue) => insertSecret(each, secret));
  if (Object.keys(value).join() === 'secret') return secret;
  return Object.fromEntries(
    Object.entries(value).map(([field, each]) => [field, insertSecret(each, secret)]),
  );
}

function renderXml(value: StatementValue): string {
  if (typeof value !== 'object')
    return String(value)
      .replaceAll('&', '&amp;')
      .replaceAll('<', '&lt;')
      .replaceAll('>', '&gt;')
      .replaceAll('"', '&quot;')
      .replaceAll("'", '&apos;');
  return Object.entries(value)
    .map(([field, each]: [string, StatementValue]) => `<${field}>${renderXml(each)}</${field}>`)
    .join('');
}

/** The expected bytes of a stated request, without its signature. */
function renderRequest(
  request: StatementRequest,
  ctid: string,
  secret: string,
): readonly [line: string, body: string] {
  if (request.interface === 'none') throw new Error('expected a request');
  if (request.interface === 'xml') {
    const content = renderXml(insertSecret(request.element, secret));
    return ['POST /xml HTTP/1.1', `<task><code>${request.code}</code>${content}</task></request>`];
  }
  const query = new URLSearchParams({ replyTo: REPLY_TO, ctid });
  const { method, path, body } = request;
  const line = `${method} /v1${path}?${query} HTTP/1.1`;
  return [line, body === undefined ? '' : JSON.stringify(insertSecret(body, secret))];
}

const readRequest = ({ line, body }: RawRequest) => [line, body.slice(Math.max(body.indexOf('<task>'), 0))];
const isSessionRequest = ({ body }: RawRequest) => /<code>1321\d+<\/code>/.test(body);

const CREDENTIALS: readonly Credential[] = [passwordCredential, applicationCredential, twoFactorCredential];

describe.each(CREDENTIALS)('with $method', (credential) => {
  beforeAll(() => {
    client = createTestClient(service.origin, credential);
    return () => client.close();
  });

  test.each(SENDABLE_TASK_NAMES)(
    'an order to %s sends exactly its statement',
    async (task) => {
      const counts = { sent: 0, refused: 0 };
      const isOutOfReach = credential.method === 'two_factor' && !TWO_FACTOR_TASKS.has(task);
      await fc.assert(
        fc.asyncProperty(INPUTS[task], fc.option(text), async (input, typed) => {
          await rig.reset();
          rig.accounts.set(ALICE.id, { ...ALICE, ...getCredentialAccount(credential) });
          service.requests.length = 0;
          const secretText = typed ?? (TASKS_REQUIRING_SECRET.has(task) ? 'needed' : undefined);
          const secret =
            TASKS_WITH_SECRET.has(task) && secretText !== undefined ? new Secret(secretText) : undefined;
          const outcome = await rig.request(task, input, { secret });
          if (outcome.kind !== 'accepted') {
            counts.refused += 1;
            expect(['invalid', 'unsupported']).toContain(outcome.kind);
            return;
          }
          const { id } = outcome.order;
          await confirmOrder(rig.orders, id, 'U0ALICE');
          await approveOrder(rig.orders, id, 'U0BOB');
          const statement = buildStatement(await rig.read(id), rig.orders.serviceEndpoints);
          await rig.runDue();
          expect((await rig.read(id)).state).toBe('SUCCEEDED');
          const stated = statement.items.map(({ request, ctid }) =>
            renderRequest(request, ctid, secretText ?? ''),
          );
          const received = service.requests.filter((each) => !isSessionRequest(each)).map(readRequest);
          expect(received.sort()).toEqual(stated.toSorted());
          counts.sent += 1;
        }),
        { numRuns: runs(credential === passwordCredential ? 20 : 8) },
      );
      if (isOutOfReach) expect(counts.sent).toBe(0);
      else expect(counts.sent).toBeGreaterThan(counts.refused / 4);
    },
    TIMEOUT_MS,
  );
});

/** The tasks that the XML interface documents. */
const TWO_FACTOR_TASKS: ReadonlySet<OrderTaskName> = new Set(['redirect', 'ssl-contact', 'user']);
