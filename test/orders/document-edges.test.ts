import { expect, test } from 'vitest';
import type { OrderTaskName } from '../../src/orders/order.ts';
import { getOrderTask } from '../../src/orders/tasks.ts';

/* Cases that the service's documentation leaves open. */

const DELEGATION = {
  name: 'cafe.rest',
  ownerc: 1,
  adminc: 2,
  techc: 3,
  nameServers: ['ns1.example.net', 'ns2.example.net'],
};

function buildRequest(task: OrderTaskName, formInput: unknown) {
  const checked = getOrderTask(task).check(formInput);
  if (!checked.ok) throw new Error(JSON.stringify(checked.issues));
  const [name = ''] = checked.names;
  return getOrderTask(task).describeRequest(
    { input: checked.input, name, secret: undefined },
    { json: true, xml: false },
  );
}

test.each([
  [{}, true],
  [{ confirmOrder: true }, true],
  [{ confirmOrder: false }, false],
])('a registration with %j sends confirmOrder %s', (formInput, confirmOrder) => {
  expect(buildRequest('create', { ...DELEGATION, ...formInput })).toMatchObject({ body: { confirmOrder } });
});

test.each(['501', '007', 'abc-01', 'a b', '99999999999999999999'])(
  'the SSL contact %j is sent unchanged',
  (id) => {
    expect(buildRequest('ssl-contact', { id, city: 'Berlin' })).toMatchObject({
      path: `/sslcontact/${encodeURIComponent(id)}`,
    });
  },
);

test('the path of a redirect is sent unchanged', () => {
  const redirect = { target: 'https://www.example.com', type: 'DOMAIN', mode: 'HTTP' };
  expect(buildRequest('redirect', { ...redirect, source: 'cafe.rest/menü/' })).toMatchObject({
    path: `/redirect/${encodeURIComponent('cafe.rest/menü/')}`,
    body: { source: 'cafe.rest/menü/' },
  });
});
