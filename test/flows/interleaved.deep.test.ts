import { SANDBOX_ACCOUNTS } from '@domain-steward/sandbox-service';
import { describe, expect, test } from 'vitest';
import { DOMAINS, useTestDemo } from '../support/demo.ts';
import { orderOf } from '../support/orders.ts';

/*
 * Two people use one process at the same time: no request is ever sent with the other person's credentials.
 */

const PEOPLE = [
  { userId: 'U0ALICE', login: SANDBOX_ACCOUNTS.alice },
  { userId: 'U0BOB', login: SANDBOX_ACCOUNTS.bob },
] as const;

describe.each([
  { auth: 'basic', way: 'credentials', count: 100 },
  { auth: 'session', way: 'session', count: 20 },
])('with $auth authentication', ({ auth, way, count }) => {
  // Renewals need no approval here, so all orders run concurrently.
  const t = useTestDemo({
    settings: { SERVICE_AUTH: auth, APPROVAL_TASKS: 'create' },
    linkedPeople: ['alice', 'bob'],
  });

  test('interleaved orders each use their requester’s credentials', async () => {
    const orders = Array.from({ length: count }, (_, index) => {
      const person = PEOPLE[index % 2 === 0 ? 0 : 1];
      const name = `table-for-${index}.rest`;
      t.service.state.addDomain({ name, context: 4, expires: Date.now() + 30 * 86_400_000 });
      return { ...person, name };
    });
    await Promise.all(
      orders.map(({ userId, name }) => t.workspace.as(userId).command(DOMAINS, `/domain renew ${name}`)),
    );
    await t.workspace.waitFor(() => (statesByName().size === count ? true : undefined), {
      what: `${count} results`,
      timeoutMs: 50_000,
    });

    expect([...statesByName().values()].filter((state) => state !== 'SUCCEEDED')).toEqual([]);
    const sent = t.service.requestsFor({ task: 'domain.renew' });
    expect(sent, 'renewals sent').toHaveLength(count);
    const wronglySent = orders.filter(({ name, login }) =>
      sent.some((request) => request.name === name && request.user !== login.user),
    );
    expect(wronglySent, 'orders sent with another person’s credentials').toEqual([]);
    expect(new Set(sent.map(({ ctid }) => ctid)).size, 'distinct client transactions').toBe(count);
    expect(new Set(sent.map(({ way }) => way))).toEqual(new Set([way]));
    const charges = t.service.state.charges.map(({ name, user }) => `${user} ${name}`);
    expect(charges.sort(), 'who was charged for what').toEqual(
      orders.map(({ name, login }) => `${login.user} ${name}`).sort(),
    );
  });

  /** Maps each domain name to the state in its order's reply. */
  function statesByName(): Map<string, string> {
    const replies = t.workspace.messages(DOMAINS).filter(({ thread_ts }) => thread_ts !== undefined);
    return new Map(
      replies.flatMap((message) => {
        const order = orderOf(message);
        return order === undefined ? [] : [[order.names, order.state]];
      }),
    );
  }
});
