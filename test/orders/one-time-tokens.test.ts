import { SANDBOX_ACCOUNTS, type SandboxService, startSandboxService } from '@domain-steward/sandbox-service';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { createServiceClient, type ServiceClient } from '../../src/service/client.ts';
import { Secret } from '../../src/service/secret.ts';
import { ALICE, type Rig, startRig } from './rig.ts';

/*
 * A two-factor account has used up its one-time token for this half minute. Requests time out before the next one is
 * valid.
 */

const HALF_MINUTE_MS = 30_000;

let rig: Rig;
let service: SandboxService;
let client: ServiceClient;
beforeAll(async () => {
  rig = await startRig({ client: () => client });
  const now = () => rig.now.getTime();
  service = await startSandboxService({ now });
  const { user, context, password, totpSecret } = SANDBOX_ACCOUNTS.tina;
  client = createServiceClient({
    jsonUrl: service.jsonUrl,
    xmlUrl: service.xmlUrl,
    credential: {
      method: 'two_factor',
      user,
      context,
      password: new Secret(password),
      totpSecret: new Secret(totpSecret),
    },
    jsonAuth: 'basic',
    timeoutMs: 10_000,
    now,
  });
});
afterAll(async () => {
  await client.close();
  await rig.end();
  await service.close();
});

beforeEach(() => {
  const { user: login, context } = SANDBOX_ACCOUNTS.tina;
  rig.accounts.set(ALICE.id, { ...ALICE, method: 'two_factor', login, context });
});

const requestRedirect = () =>
  rig.requestAccepted('redirect', {
    source: 'shop.cafe.rest',
    target: 'https://b.example',
    type: 'domain',
    mode: 'single',
  });

test('an order waits for the next one-time token and is then sent automatically', async () => {
  const first = await requestRedirect();
  await rig.runDue();
  expect((await rig.read(first.id)).state).toBe('SUCCEEDED');
  service.sessions.endAll();

  const order = await requestRedirect();
  await rig.runDue();
  const waiting = await rig.read(order.id);
  expect(waiting).toMatchObject({
    state: 'APPROVED',
    items: [{ state: 'WAITING', notBefore: new Date(rig.now.getTime() + HALF_MINUTE_MS) }],
  });
  const [retryEntry] = (await rig.store.loadHistory(order.id, 'system')).filter(
    (each) => each.kind === 'retry_scheduled',
  );
  expect(retryEntry?.retryReason).toEqual({ code: 'token_used' });

  rig.advanceClock(HALF_MINUTE_MS);
  await rig.runDue();
  expect((await rig.read(order.id)).state).toBe('SUCCEEDED');
  const listStatuses = (task: 'session.create' | 'redirect.update') =>
    service.requestsFor({ task }).map(({ status }) => status);
  expect(listStatuses('session.create'), 'responses to sign-ins').toEqual([200, 200]);
  expect(listStatuses('redirect.update')).toEqual([200, 401, 200]);
});
