import { SANDBOX_ACCOUNTS, setUpStory } from '@domain-steward/sandbox-service';
import { expect, test } from 'vitest';
import { link, openForm, readCommandReply, textOf, useTestDemo } from '../support/demo.ts';
import { requestAndApprove, requestByCommand, requestsOf, waitForOrder } from '../support/orders.ts';
import { requestAndConfirm } from '../support/people.ts';

/*
 * Runs the main tasks once per seed, while the service, registries and nameservers respond in undocumented formats. All
 * responses are correct, so every order is carried out once. `RUDE_SEEDS=1-200` selects the seeds.
 */

const DAY_MS = 86_400_000;
const [FIRST_SEED, LAST_SEED] = (process.env['RUDE_SEEDS'] ?? '1-6').split('-').map(Number);
const SEEDS = Array.from(
  { length: (LAST_SEED ?? 0) - (FIRST_SEED ?? 0) + 1 },
  (_, n) => (FIRST_SEED ?? 0) + n,
);
const NAMESERVERS = ['ns1.host.example', 'ns2.host.example'];

// The tests send more updates per minute than Slack allows.
const t = useTestDemo({ linkedPeople: [], rateLimits: false });

test.each(SEEDS)('undocumented response formats don’t break any task: seed %d', async (seed) => {
  const name = `seed${seed}.rest`;
  const { dns } = t.demo;
  t.service.rude.seed = seed;
  if (dns.sandbox !== undefined) dns.sandbox.rude.seed = seed;
  const expires = t.service.clock.registryTime() + 40 * DAY_MS;
  t.service.state.addDomain({
    name,
    context: SANDBOX_ACCOUNTS.alice.context,
    expires,
    nameServers: NAMESERVERS,
  });
  if (dns.sandbox !== undefined) await setUpStory({ service: t.service, dns: dns.sandbox, name });

  await link(t.workspace, t.alice);
  expect(await readCommandReply(t.workspace, t.alice, `/domain watch ${name}`)).toContain(name);
  const nameReply = await readCommandReply(t.workspace, t.alice, `/domain name ${name}`);
  expect(nameReply).toMatch(/\*Expires [^*]+\* \(in 40 days\)/);
  expect(nameReply).toContain('*Registrar* Sandbox Registrar Ltd');
  expect(nameReply).toContain('*Status* active, client delete prohibited, client transfer prohibited');
  expect(nameReply).toContain('*Nameservers* `ns1.host.example`, `ns2.host.example`');

  const renewal = await requestAndApprove(
    t.bob,
    requestByCommand(t.workspace, t.alice, `/domain renew ${name}`),
  );
  expect(textOf(await renewal.waitForResult('SUCCEEDED'))).toContain('S0105');
  expect(requestsOf(t.service, renewal)).toHaveLength(1);

  const form = await openForm(t.workspace, t.alice, '/domain redirect shop.cafe.rest');
  const redirect = await waitForOrder(t.workspace, () =>
    t.alice.submit(form, { target: `https://cafe.example/${seed}`, type: 'domain', mode: 'single' }),
  );
  expect(textOf(await redirect.waitForResult('SUCCEEDED'))).toContain('S0502');
  const redirectRequests = t.service.requestsFor({ task: 'redirect.update' });
  expect(
    redirectRequests.filter(({ body }) => JSON.stringify(body).includes(`example/${seed}<`)),
  ).toMatchObject([{ interface: 'xml' }]);

  const nameserverChange = await requestAndConfirm(
    t.workspace,
    t.alice,
    `/domain nameservers ${name} ns1.other.example ns2.other.example`,
    name,
  );
  await nameserverChange.waitForResult('SUCCEEDED');
  expect(requestsOf(t.service, nameserverChange)).toHaveLength(1);

  expect(await readCommandReply(t.workspace, t.alice, '/domain prereg table-007.rest')).toMatch(
    /table-007\.rest/,
  );
});
