import { startWorkspace, type Workspace } from '@domain-steward/slack-workspace';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { approveOrder } from '../../src/approvals/approve.ts';
import { amountInAnswer } from '../../src/money/answered-amounts.ts';
import { priceEdits } from '../../src/money/prices.ts';
import { confirmOrder } from '../../src/orders/confirm-draft.ts';
import { Secret } from '../../src/service/secret.ts';
import { createPriceDifferencePlanner, openPriceDifferences } from '../../src/slack/money/money-report.ts';
import { createDirectory } from '../../src/slack/outbound/directory.ts';
import { createSlackWeb } from '../../src/slack/outbound/web.ts';
import { createMoneyReportStore } from '../../src/store/money-reports.ts';
import { createNotificationStore } from '../../src/store/notifications.ts';
import { HOUR_MS } from '../orders/rig.ts';
import { DONE } from '../orders/scripted-service.ts';
import { slackContextWith } from '../support/context.ts';
import { textOf } from '../support/demo.ts';
import { notifierDeps, notifyDue } from '../support/notifier.ts';
import { type MoneyRig, startRig } from './rig.ts';

describe('the amount that an answer tells', () => {
  const eur = (minor: number) => ({ currency: 'EUR', minor });

  test.each([
    [{ object: { data: { price: '18.50', currency: 'EUR' } } }, eur(1_850)],
    [{ data: [{ amount: 18.5, currency: 'eur' }] }, eur(1_850)],
    [{ data: [{ price: { value: '18.50', currency: 'EUR' } }] }, eur(1_850)],
    [{ data: [{ price: 1850, currency: 'JPY' }] }, { currency: 'JPY', minor: 1_850 }],
    [
      {
        data: [
          { price: '18.50', currency: 'EUR' },
          { price: '18.5', currency: 'EUR' },
        ],
      },
      eur(1_850),
    ],
  ])('is taken where it is certain: %j', (answer, amount) => {
    expect(amountInAnswer(answer)).toEqual(amount);
  });

  test.each([
    [{ data: [{ price: '18.50' }] }],
    [{ data: [{ price: 'EUR 18.50', currency: 'EUR' }] }],
    [{ data: [{ price: '18.505', currency: 'EUR' }] }],
    [{ data: [{ price: -18.5, currency: 'EUR' }] }],
    [{ data: [{ price: '18.50', currency: 'euros' }] }],
    [{ data: [{ price: '18.50', vat: '3.50', currency: 'EUR', amount: '22.00' }] }],
    [{ messages: [{ price: '18.50', currency: 'EUR' }] }],
    [{ status: { code: 'S0100' } }],
    ['text'],
    [null],
    [undefined],
  ])('is never made up: %j', (answer) => {
    expect(amountInAnswer(answer)).toBeUndefined();
  });
});

describe('amounts that differ from the list', () => {
  let m: MoneyRig;
  let workspace: Workspace;
  beforeAll(async () => {
    [m, workspace] = await Promise.all([startRig(), startWorkspace()]);
  });
  afterAll(async () => {
    await Promise.all([m.end(), workspace.close()]);
  });

  test('are told to admins on the next day, once', async () => {
    m.rig.service.answer = async ({ ctid }) => ({
      ...DONE,
      data: [{ price: ctid.endsWith('.1') ? '10.00' : '12.50', currency: 'EUR' }],
    });
    const { id } = await m.ask('renew', { names: ['same.rest', 'dearer.rest'], period: 1 });
    await approveOrder(m.orders, id, 'U0BOB');
    await m.rig.runDue();
    const web = createSlackWeb(new Secret(workspace.botToken), workspace.apiUrl);
    const notifications = createNotificationStore(m.database, 'T0STEWARD');
    const now = () => m.rig.now;
    const context = slackContextWith({
      directory: createDirectory(web, workspace.teamId),
      adminsToNotify: async () => ['U0ADA'],
      prices: m.prices,
      moneyReports: createMoneyReportStore(m.database),
      notifications,
      now,
    });
    const report = createPriceDifferencePlanner(context);
    const tellPriceDifferences = async () => {
      await openPriceDifferences(context);
      await notifyDue(notifierDeps({ notifications, web, now }, { report }));
    };
    const told = () => workspace.messages('D0ADA').map(textOf);
    await tellPriceDifferences();
    expect(told()).toEqual([]);
    m.rig.pass(24 * HOUR_MS);
    await tellPriceDifferences();
    await tellPriceDifferences();
    expect(told()).toHaveLength(1);
    expect(told()[0]).toContain(`dearer.rest, renew: €12.50 told, €10.00 on the list, order \`${id}\``);
    expect(told()[0]).not.toContain('same.rest');
  });

  test('are those of the period that each row of an order asks for', async () => {
    const price = { zone: 'rest', task: 'renew', validFrom: '2026-01-01', source: 'C' } as const;
    const amount = { currency: 'EUR', minor: 1_900 };
    await m.prices.save(priceEdits([], [{ ...price, period: 2, amount }]), 'U0ADA', m.rig.now);
    m.rig.service.answer = async () => ({ ...DONE, data: [{ price: '19.00', currency: 'EUR' }] });
    const rows = ['two-years.rest', 'one-year.rest'].map((name, index) => ({
      name,
      input: { names: [name], period: 2 - index },
      secret: undefined,
    }));
    const { id } = await m.ask('renew', {}, { bulk: { rows, findings: [], leftOut: 0 } });
    const confirmed = await confirmOrder(m.orders, id, 'U0ALICE');
    expect(confirmed.kind).toBe('confirmed');
    await approveOrder(m.orders, id, 'U0BOB');
    await m.rig.runDue();
    const answers = await createMoneyReportStore(m.database).answers(
      m.rig.now,
      new Date(m.rig.now.getTime() + HOUR_MS),
    );
    expect(answers.map(({ name, period }) => [name, period])).toEqual([
      ['two-years.rest', 2],
      ['one-year.rest', 1],
    ]);
  });
});
