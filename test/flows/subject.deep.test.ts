import type { SubmitResult } from '@domain-steward/slack-workspace';
import { expect, test } from 'vitest';
import type { PolicyRule } from '../../src/policy/policy.ts';
import { rule } from '../policy/sample.ts';
import { answerTo, DOMAINS, openedAfter, openForm, toldAfter, useTestDemo } from '../support/demo.ts';
import { orderAfter, orderOf } from '../support/orders.ts';

/*
 * A rule about a name decides about every redirect of it, however its source is spelled.
 */

let rules: readonly PolicyRule[] = [];
const t = useTestDemo({ policy: { current: async () => ({ version: 3, rules }) } });

/** Asks for a redirect by the form. */
async function redirect(source: string, type = 'DOMAIN'): Promise<SubmitResult> {
  const view = await openForm(t.workspace, t.alice, '/domain redirect');
  const result = await t.alice.submit(view, { source, target: 'https://x.example/', type, mode: 'HTTP' });
  if (result.outcome === 'errors') t.alice.close(view);
  return result;
}

/** What the policy says to a redirect, when the form takes it. */
const refusalOf = (source: string) =>
  toldAfter(t.workspace, t.alice, async () => {
    expect(await redirect(source), source).toMatchObject({ outcome: 'closed' });
  });

test('a rule on a name decides about every spelling of it that the form takes', async () => {
  rules = [rule({ name: 'not the café', names: ['cafe.rest'], decision: 'refuse' })];
  const sent = t.service.requests.length;
  for (const source of [
    ...['cafe.rest', 'Cafe.REST.', 'http://cafe.rest/', 'cafe.rest/menu', 'www.cafe.rest', 'a.b.cafe.rest/x'],
    ...['info@cafe.rest', 'info@cafe.rest.', 'info@www.cafe.rest', 'ｃａｆｅ。rest'],
  ]) {
    expect(await refusalOf(source), source).toContain('rule “not the café”');
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
    expect(await redirect(source), source).toMatchObject({
      outcome: 'errors',
      errors: { source: expect.stringContaining('Enter a host name such as') },
    });
  }
  expect(t.service.requests).toHaveLength(sent);
});

test('a rule on a tag decides about whatever hangs on the name that has it', async () => {
  rules = [];
  await answerTo(t.workspace, t.alice, '/domain watch cafe.rest');
  await answerTo(t.workspace, t.alice, '/domain name cafe.rest');
  const [screen] = t.alice.ephemerals().slice(-1);
  if (screen === undefined) throw new Error('the screen of the name was not shown');
  const edit = await openedAfter(t.workspace, t.alice, () => t.alice.click(screen, 'name_edit'));
  await toldAfter(t.workspace, t.alice, () => t.alice.submit(edit, { tags: 'brand' }));
  rules = [rule({ name: 'not the brand', names: ['tag:brand'], decision: 'refuse' })];
  for (const source of ['cafe.rest', 'www.cafe.rest', 'cafe.rest/path', 'info@cafe.rest'])
    expect(await refusalOf(source), source).toContain('rule “not the brand”');
  const order = await orderAfter(t.workspace, () => redirect('bar.rest/cafe.rest'), DOMAINS);
  expect(orderOf(order.card)?.names).toBe('bar.rest/cafe.rest');
});

test('a target whose host cannot be read is refused at its field', async () => {
  rules = [];
  const view = await openForm(t.workspace, t.alice, '/domain redirect www.cafe.rest');
  const target = 'https://bank.example@evil.example/';
  expect(await t.alice.submit(view, { target, type: 'DOMAIN', mode: 'HTTP' })).toMatchObject({
    outcome: 'errors',
    errors: { target: expect.stringContaining('Enter a web address') },
  });
  t.alice.close(view);
});

test('a line that is tried out is read as the form reads it', async () => {
  expect(await answerTo(t.workspace, t.ada, '/domain policy test redirect WWW.cafe.rest/menu/')).toContain(
    'Redirects of `www.cafe.rest/menu/`',
  );
  expect(await answerTo(t.workspace, t.ada, '/domain policy test redirect cafe.rest..')).toContain(
    'I can’t read `cafe.rest..`',
  );
});
