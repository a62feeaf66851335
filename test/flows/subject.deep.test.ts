import type { SubmitResult } from '@domain-steward/slack-workspace';
import { expect, test } from 'vitest';
import type { PolicyRule } from '../../src/policy/policy.ts';
import { newPolicyRule } from '../policy/sample.ts';
import {
  DOMAINS,
  openForm,
  performAndReadReply,
  performAndWaitForView,
  readCommandReply,
  useTestDemo,
} from '../support/demo.ts';
import { orderOf, waitForOrder } from '../support/orders.ts';

/* A rule for a name applies to all its redirects, in any spelling of their source. */

let rules: readonly PolicyRule[] = [];
const t = useTestDemo({ policy: { loadCurrentPolicy: async () => ({ version: 3, rules }) } });

async function requestRedirect(source: string, type = 'DOMAIN'): Promise<SubmitResult> {
  const view = await openForm(t.workspace, t.alice, '/domain redirect');
  const result = await t.alice.submit(view, { source, target: 'https://x.example/', type, mode: 'HTTP' });
  if (result.outcome === 'errors') t.alice.close(view);
  return result;
}

/** Requests a redirect that the form accepts. @returns the policy's refusal */
const expectRefusal = (source: string) =>
  performAndReadReply(t.workspace, t.alice, async () => {
    expect(await requestRedirect(source), source).toMatchObject({ outcome: 'closed' });
  });

test('a rule for a name applies to every spelling that the form accepts', async () => {
  rules = [newPolicyRule({ name: 'not the café', names: ['cafe.rest'], decision: 'refuse' })];
  const sent = t.service.requests.length;
  for (const source of [
    ...['cafe.rest', 'Cafe.REST.', 'http://cafe.rest/', 'cafe.rest/menu', 'www.cafe.rest', 'a.b.cafe.rest/x'],
    ...['info@cafe.rest', 'info@cafe.rest.', 'info@www.cafe.rest', 'ｃａｆｅ。rest'],
  ]) {
    expect(await expectRefusal(source), source).toContain('rule “not the café”');
  }
  for (const source of [
    ...['cafe.rest..', '//cafe.rest', 'cafe.rest?', 'cafe.rest#x', 'cafe.rest:', 'http://http://cafe.rest'],
    ...[
      'a@b@cafe.rest',
      'http://a@cafe.rest',
      'cafe.rest:80',
      'cafe%2erest',
      'ftp://cafe.rest',
      'cafe.rest\\',
    ],
  ]) {
    expect(await requestRedirect(source), source).toMatchObject({
      outcome: 'errors',
      errors: { source: expect.stringContaining('Enter a host name such as') },
    });
  }
  expect(t.service.requests).toHaveLength(sent);
});

test('a rule for a tag applies to everything below the tagged name', async () => {
  rules = [];
  await readCommandReply(t.workspace, t.alice, '/domain watch cafe.rest');
  await readCommandReply(t.workspace, t.alice, '/domain name cafe.rest');
  const [screen] = t.alice.ephemerals().slice(-1);
  if (screen === undefined) throw new Error('the name was not shown');
  const edit = await performAndWaitForView(t.workspace, t.alice, () => t.alice.click(screen, 'name_edit'));
  await performAndReadReply(t.workspace, t.alice, () => t.alice.submit(edit, { tags: 'brand' }));
  rules = [newPolicyRule({ name: 'not the brand', names: ['tag:brand'], decision: 'refuse' })];
  for (const source of ['cafe.rest', 'www.cafe.rest', 'cafe.rest/path', 'info@cafe.rest'])
    expect(await expectRefusal(source), source).toContain('rule “not the brand”');
  const order = await waitForOrder(t.workspace, () => requestRedirect('bar.rest/cafe.rest'), DOMAINS);
  expect(orderOf(order.card)?.names).toBe('bar.rest/cafe.rest');
});

test('a target with a misleading host is rejected at its field', async () => {
  rules = [];
  const view = await openForm(t.workspace, t.alice, '/domain redirect www.cafe.rest');
  const target = 'https://bank.example@evil.example/';
  expect(await t.alice.submit(view, { target, type: 'DOMAIN', mode: 'HTTP' })).toMatchObject({
    outcome: 'errors',
    errors: { target: expect.stringContaining('Enter a web address') },
  });
  t.alice.close(view);
});

test('/domain policy test reads a source like the form', async () => {
  expect(
    await readCommandReply(t.workspace, t.ada, '/domain policy test redirect WWW.cafe.rest/menu/'),
  ).toContain('Redirects of `www.cafe.rest/menu/`');
  expect(await readCommandReply(t.workspace, t.ada, '/domain policy test redirect cafe.rest..')).toContain(
    'I can’t read `cafe.rest..`',
  );
});
