import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { formatCanonicalJson } from '../../src/lib/canonical-json.ts';
import { findChangedParts } from '../../src/orders/check-statement.ts';
import type { Order } from '../../src/orders/order.ts';
import { saltSecret, verifyAndUnsaltSecret } from '../../src/orders/salted-secret.ts';
import { buildStatement, hashStatement, verifyStatement } from '../../src/orders/statement.ts';
import { Secret } from '../../src/service/secret.ts';
import { newOrderEvent } from '../support/log.ts';
import { ENDPOINTS, newBulk, newOrder } from './sample.ts';

const APPLICATION = {
  id: 'account',
  login: '6ba7b810-9dad-11d1-80b4-00c04fd430c8',
  method: 'trusted_application',
  context: undefined,
  isTeamAccount: true,
};

const newRedirectOrder = (changes: object) =>
  newOrder(['www.cafe.rest'], {
    task: 'redirect',
    input: {
      source: 'www.cafe.rest',
      target: 'https://b.example/',
      type: 'domain',
      mode: 'frame',
      title: '<Menu>',
    },
    ...changes,
  });

/** Creates a bulk order with one row for each period. */
function newBulkOrder(...periods: readonly number[]): Order {
  const names = periods.map((_, index) => `n${index + 1}.rest`);
  const order = newOrder(names, { bulk: newBulk(20) });
  const items = order.items.map((item, index) => ({
    ...item,
    input: { names: [item.name], period: periods[index] },
  }));
  return { ...order, items };
}

describe('the statement of an order', () => {
  it('has everything that is sent', () => {
    const order = newOrder(['cafe.rest'], {
      id: 'zr0gsgvnnxvt',
      input: { names: ['cafe.rest'], period: 2 },
    });
    expect(JSON.stringify(buildStatement(order, ENDPOINTS))).toBe(
      '{"version":1,"order":"zr0gsgvnnxvt","task":"renew","service":"https://service.example/v1","account":{"method":"password","login":"alice","context":4,"team":false},"items":[{"n":1,"name":"cafe.rest","ctid":"zr0gsgvnnxvt","request":{"interface":"json","method":"POST","path":"/domain/cafe.rest/_renew","body":{"period":2}}}]}',
    );
  });

  it('over XML has the code, the element and the XML address', () => {
    const statement = buildStatement(newRedirectOrder({}), {
      ...ENDPOINTS,
      replyTo: 'https://reply.example/',
    });
    expect(statement.service).toBe(ENDPOINTS.xmlUrl);
    expect(statement, 'XML has no reply address').not.toHaveProperty('replyTo');
    expect(statement.items[0]?.request).toEqual({
      interface: 'xml',
      code: '0502',
      element: {
        redirect: {
          type: 'domain',
          mode: 'frame',
          title: '<Menu>',
          source: 'www.cafe.rest',
          target: 'https://b.example/',
        },
      },
    });
  });

  it('has the reply address and the account', () => {
    const order = newOrder(['cafe.rest'], { account: APPLICATION });
    expect(buildStatement(order, { ...ENDPOINTS, replyTo: 'https://reply.example/' })).toMatchObject({
      replyTo: 'https://reply.example/',
      account: { method: 'trusted_application', login: APPLICATION.login, team: true },
    });
    expect(buildStatement(order, ENDPOINTS).account).not.toHaveProperty('context');
  });

  it('says that a registration is confirmed', () => {
    const input = { name: 'a.rest', ownerc: 1, adminc: 2, techc: 3, nameServers: ['ns1.a.net', 'ns2.a.net'] };
    const [item] = buildStatement(newOrder(['a.rest'], { task: 'create', input }), ENDPOINTS).items;
    expect(item?.request).toMatchObject({ body: { name: 'a.rest', confirmOrder: true } });
  });

  it('has a salted hash instead of a secret', () => {
    const { saltedSecret, hash } = saltSecret(new Secret('hunter2'));
    const input = { user: 'anna', context: 4, defaultEmail: 'a@b.example' };
    const order = newOrder(['anna'], { task: 'user', input, secretHash: hash });
    expect(buildStatement(order, ENDPOINTS).items[0]?.request).toMatchObject({
      body: { user: 'anna', password: { secret: hash } },
    });
    expect(hash).toBe(`sha256:${createHash('sha256').update(saltedSecret.reveal()).digest('hex')}`);
    expect(verifyAndUnsaltSecret(saltedSecret, hash)?.reveal()).toBe('hunter2');
    expect(
      verifyAndUnsaltSecret(saltedSecret, saltSecret(new Secret('hunter2')).hash),
      'with another salt',
    ).toBeUndefined();
  });
});

describe('the hash of a statement', () => {
  const hash = (order: Order) => hashStatement(buildStatement(order, ENDPOINTS));

  it('is the SHA-256 of its canonical form', () => {
    const statement = buildStatement(newOrder(['cafe.rest']), ENDPOINTS);
    expect(hashStatement(statement)).toBe(
      createHash('sha256').update(formatCanonicalJson(statement)).digest('hex'),
    );
  });

  it('doesn’t depend on how the database stores an input', () => {
    const order = newOrder(['a.rest']);
    expect(hash({ ...order, input: { period: 1, names: ['a.rest'] } })).toBe(hash(order));
  });

  it('differs if a row of a bulk order differs, is missing or has another position', () => {
    const order = newBulkOrder(1, 2);
    expect(hash(newBulkOrder(1, 3))).not.toBe(hash(order));
    expect(hash({ ...order, items: order.items.slice(1) })).not.toBe(hash(order));
    expect(hash({ ...order, items: order.items.toReversed() })).not.toBe(hash(order));
  });

  it('binds an order to its rows', () => {
    const order = { ...newBulkOrder(1, 2), statementHash: hash(newBulkOrder(1, 2)) };
    expect(verifyStatement(order, ENDPOINTS)).toEqual(buildStatement(order, ENDPOINTS));
    const items = order.items.map((item) => (item.n === 2 ? { ...item, name: 'other.rest' } : item));
    expect(verifyStatement({ ...order, items }, ENDPOINTS)).toBeUndefined();
    expect(
      verifyStatement({ ...order, task: 'transfer' }, ENDPOINTS),
      'with a task that can’t be stated',
    ).toBeUndefined();
    expect(verifyStatement(order, { ...ENDPOINTS, jsonUrl: 'https://elsewhere.example/v1' })).toBeUndefined();
  });
});

describe('the changed parts of a statement', () => {
  const order = newOrder(['cafe.rest'], { statementHash: 'a'.repeat(64) });
  const newRequestedEntry = (changes: object = {}) =>
    newOrderEvent('requested', 'PENDING', {
      statement: order.statementHash,
      service: ENDPOINTS.jsonUrl,
      task: 'renew',
      account: 'alice in context 4',
      names: ['cafe.rest'],
      input: { period: 1, names: ['cafe.rest'] },
      ...changes,
    });

  it.each([
    [{}, []],
    [{ statement: 'b' }, ['hash']],
    [{ service: 'https://before.example/v1' }, ['service']],
    [{ replyTo: 'https://reply.example/' }, ['service']],
    [{ task: 'restore' }, ['task']],
    [{ account: 'bob in context 4' }, ['account']],
    [{ names: ['bar.rest'] }, ['names']],
    [{ input: { names: ['cafe.rest'], period: 2 } }, ['input']],
    [{ names: undefined, input: undefined, rows: 2 }, ['names']],
  ])('compared with a log entry with %j are %j', (logged, parts) => {
    expect(findChangedParts(order, [newRequestedEntry(logged)], ENDPOINTS)).toEqual(parts);
  });

  it('are unknown without a log', () => {
    expect(findChangedParts(order, [], ENDPOINTS)).toEqual([]);
  });
});
