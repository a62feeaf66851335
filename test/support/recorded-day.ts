import { randomUUID } from 'node:crypto';
import type { TeamAccount } from '../../src/accounts/account.ts';
import { approveInEmergency, approveOrder, resumeOrder, signOff } from '../../src/approvals/approve.ts';
import { denyOrder } from '../../src/approvals/deny.ts';
import { askRequester, cancelOrder } from '../../src/approvals/pending.ts';
import type { ProposedChange } from '../../src/approvals/proposals/proposal.ts';
import { createBudgetComparer } from '../../src/money/budget-comparison.ts';
import { createOrderPricer } from '../../src/money/order-cost.ts';
import { diffPrices, type Price } from '../../src/money/prices.ts';
import { hashIncident, updateIncidents } from '../../src/names/incident.ts';
import { confirmIncident, raiseAlarm } from '../../src/names/incident-actions.ts';
import { confirmOrder } from '../../src/orders/confirm-draft.ts';
import type { Order, OrderEvent } from '../../src/orders/order.ts';
import { requestOrder } from '../../src/orders/request-order.ts';
import { resolveOrder } from '../../src/orders/resolve.ts';
import { retryOrder } from '../../src/orders/retry-button.ts';
import { revealSecret } from '../../src/orders/reveal.ts';
import { transition } from '../../src/orders/state-machine.ts';
import { stopOrder } from '../../src/orders/stop.ts';
import { getDraftBase } from '../../src/policy/drafts.ts';
import type { PolicyRule } from '../../src/policy/policy.ts';
import { createBudgetStore } from '../../src/store/budgets.ts';
import { openDatabase } from '../../src/store/database.ts';
import { createWatchListStore } from '../../src/store/domains.ts';
import { createIncidentStore } from '../../src/store/incidents.ts';
import { createInstallationStore } from '../../src/store/installation.ts';
import { createNameRecordStore } from '../../src/store/name-records.ts';
import { createPolicyStore } from '../../src/store/policies.ts';
import { createPortfolioStore } from '../../src/store/portfolio.ts';
import { createPresetStore } from '../../src/store/presets.ts';
import { createPriceStore } from '../../src/store/prices.ts';
import { createSettingsStore } from '../../src/store/settings.ts';
import { createTeamAccountStore } from '../../src/store/team-account.ts';
import { silentLog } from '../expiry/rig.ts';
import { HOUR_MS, MINUTE_MS, requireAccepted, startRig, waitUntil } from '../orders/rig.ts';
import { newServiceError, SUCCESS_ENVELOPE } from '../orders/scripted-service.ts';
import { newPolicyRule } from '../policy/sample.ts';
import { namesContextWith } from './names-context.ts';
import { confirmPolicy, confirmProposal, newProposalStore } from './proposals.ts';
import {
  confirmLapse,
  editNames,
  importNames,
  requestLapse,
  snoozeName,
  unwatchName,
  watchName,
} from './unprotected.ts';

const TEAM = 'T0STEWARD';
const SECOND_MS = 1_000;
const ADMINS: ReadonlySet<string> = new Set(['U0ADA', 'U0CAROL']);

/** Values that differ between runs, with their replacements in the audit file. */
export type GeneratedValues = ReadonlyMap<string, string>;

/**
 * Records every kind of event of the audit log. Runs the use cases on the real stores, with a clock that advances a
 * second at a time.
 * @param url an empty database
 */
export async function recordDay(url: string): Promise<GeneratedValues> {
  const rig = await startRig({ database: { url, drop: async () => undefined } });
  const database = openDatabase({ url });
  try {
    await createInstallationStore(database).assignWorkspace(TEAM);
    const orders: Order[] = [];
    const prices = createPriceStore(database, TEAM);
    const budgets = createBudgetStore(database, TEAM);
    const deps = {
      ...rig.orders,
      priceOrder: createOrderPricer({ prices, now: () => rig.now }),
      compareBudgets: createBudgetComparer({
        teamId: TEAM,
        budgets,
        now: () => rig.now,
      }),
      isAdmin: async (userId: string) => ADMINS.has(userId),
    };
    const advance = (ms = SECOND_MS) => rig.advanceClock(ms);
    const requestAccepted = async (...args: Parameters<typeof rig.requestAccepted>): Promise<Order> => {
      advance();
      const order = await rig.requestAccepted(...args);
      orders.push(order);
      return order;
    };
    const expectOk = async (outcome: Promise<{ readonly ok: boolean }>): Promise<void> => {
      const settled = await outcome;
      if (!settled.ok) throw new Error(JSON.stringify(settled));
      advance();
    };
    const approve = (order: Order, by = 'U0BOB', reason?: string) =>
      expectOk(approveOrder(deps, order.id, by, reason));
    const runDueWork = async () => {
      advance();
      await rig.runDue();
    };
    /** Responds to an order's items one after the other. */
    const answerInOrder =
      (answer: () => Promise<typeof SUCCESS_ENVELOPE>): typeof rig.service.answer =>
      async ({ ctid }) => {
        const [id = '', n = '1'] = ctid.split('.');
        await waitUntil('the previous item has a response', async () => {
          const { items } = await rig.read(id);
          return items.every((item) => item.n >= Number(n) || !['WAITING', 'SENT'].includes(item.state));
        });
        return answer();
      };
    /** Applies an event that no person can cause. */
    const apply = async (id: string, event: OrderEvent) => {
      advance();
      const before = await rig.read(id);
      const changed = transition(before, event, rig.now);
      if (!changed.ok) throw new Error(`${event.type}: ${changed.refusal.code}`);
      await expectOk(
        rig.store.commit({ before, after: changed.order, log: changed.log, guard: 'no_signatures' }),
      );
    };
    const renewal = (...names: string[]) =>
      requestAccepted('renew', { names, period: 1 }, { reason: 'for the year' });

    // Decisions, and orders that close without one.
    const plain = await renewal('plain.rest');
    await expectOk(askRequester(deps, plain.id, 'U0BOB', 'is it still used?'));
    await approve(plain, 'U0BOB', 'fine');
    await runDueWork();
    await expectOk(denyOrder(deps, (await renewal('denied.rest')).id, 'U0BOB', 'too dear'));
    await expectOk(cancelOrder(deps, (await renewal('cancelled.rest')).id, 'U0ALICE'));
    const stopped = await renewal('stopped.rest');
    await approve(stopped);
    await expectOk(stopOrder(deps, stopped.id, 'U0ALICE'));
    const late = await renewal('late.rest');
    advance(5 * HOUR_MS);
    await rig.recover();
    advance(24 * HOUR_MS);
    await apply(late.id, { type: 'escalated', to: ['U0EVE'], toAdmins: true });
    advance(72 * HOUR_MS);
    await rig.recover();
    const confirmed = await requestAccepted('nameservers', {
      name: 'servers.rest',
      nameServers: ['ns1.example.net', 'ns2.example.net'],
    });
    if (confirmed.state === 'PENDING') await approve(confirmed);
    await runDueWork();
    await apply(confirmed.id, {
      type: 'delegation_seen',
      n: 1,
      delegation: 'not_answering',
      hosts: ['ns1.example.net'],
      hours: 2,
    });

    // Policy rules: stand-ins, lapsed approvals, emergencies.
    rig.groups.set('S0FINANCE', ['U0FAY', 'U0FRED']);
    rig.setPolicy(3, {
      decision: 'approve',
      approvers: ['S0FINANCE', 'U0LEA'],
      needed: 2,
      breakGlass: true,
      name: 'what two decide',
    });
    await rig.standIns.begin(
      'U0LEA',
      { userId: 'U0CAROL', until: new Date(rig.now.getTime() + 10 * HOUR_MS) },
      rig.now,
    );
    const ruled = await renewal('ruled.rest');
    await approve(ruled, 'U0FAY');
    rig.groups.set('S0FINANCE', ['U0FRED', 'U0FINN']);
    await approve(ruled, 'U0CAROL');
    await approve(ruled, 'U0FRED');
    await runDueWork();
    const denied = await renewal('denied-by-rule.rest');
    await expectOk(denyOrder(deps, denied.id, 'U0CAROL', 'not now'));
    advance();
    await rig.standIns.end('U0LEA', rig.now);
    const urgent = await renewal('urgent.rest');
    await expectOk(approveInEmergency(deps, urgent.id, 'U0ADA', 'the shop is down'));
    await runDueWork();
    await expectOk(signOff(deps, urgent.id, 'U0CAROL'));
    rig.setPolicy(0);

    // Responses of the service, and missing responses.
    rig.service.answer = async () => {
      throw newServiceError('refused', { code: 'EF01055', httpStatus: 400 });
    };
    const failed = await renewal('failed.rest');
    await approve(failed);
    await runDueWork();
    rig.service.answer = async () => SUCCESS_ENVELOPE;
    advance();
    const retried = requireAccepted(await retryOrder(deps, failed.id, 'U0ALICE'));
    orders.push(retried);
    await approve(retried);
    await runDueWork();
    rig.service.answer = answerInOrder(async () => {
      throw newServiceError('unknown_outcome');
    });
    const doubtful = await renewal('doubtful.rest', 'doubtful-too.rest');
    await approve(doubtful);
    await runDueWork();
    await apply(doubtful.id, {
      type: 'hinted',
      n: 1,
      hint: {
        seen: { code: 'statuses_seen', statuses: ['ok'] },
        source: 'rdap.example',
        seenAt: rig.now.toISOString(),
      },
    });
    await apply(doubtful.id, {
      type: 'resolved',
      by: 'evidence',
      outcome: 'SUCCEEDED',
      reason: undefined,
      proof: { code: 'registered' },
      n: 1,
    });
    await expectOk(resolveOrder(deps, doubtful.id, 'U0BOB', 'FAILED', 'looked at the service'));
    await apply(doubtful.id, {
      type: 'answered_late',
      n: 2,
      outcome: 'SUCCEEDED',
      result: { summary: { code: 'done' }, code: 'S0105', text: 'Renewed' },
    });
    rig.service.answer = async () => {
      throw newServiceError('not_sent');
    };
    const unreached = await renewal('unreached.rest');
    await approve(unreached);
    await runDueWork();
    rig.service.answer = async () => SUCCESS_ENVELOPE;
    advance(HOUR_MS);
    await runDueWork();
    const lost = await renewal('lost.rest');
    await approve(lost);
    await apply(lost.id, { type: 'claimed', workerId: 'w' });
    await apply(lost.id, { type: 'sending', workerId: 'w', n: 1 });
    await apply(lost.id, { type: 'released' });
    await expectOk(resolveOrder(deps, lost.id, 'U0BOB', 'SUCCEEDED', undefined));
    const restored = await renewal('restored.rest');
    await approve(restored);
    await apply(restored.id, { type: 'invalidated', summary: { code: 'database_restored' } });
    await expectOk(resolveOrder(deps, restored.id, 'U0BOB', 'FAILED', 'it was not sent'));
    await apply(plain.id, { type: 'overdue', n: 1, days: 8 });
    await apply(plain.id, { type: 'confirmed_by_registry', n: 1 });
    const authCodeOrder = await requestAccepted('authcode', { name: 'moved.rest' });
    if (authCodeOrder.state === 'PENDING') await approve(authCodeOrder);
    await runDueWork();
    await revealSecret(deps, authCodeOrder.id, 'U0ALICE');

    rig.service.answer = answerInOrder(async () => SUCCESS_ENVELOPE);
    // Bulk orders: the first row fails, then the order is resumed, stopped, or expires.
    const rows = ['r1.rest', 'r2.rest', 'r3.rest'].map((name) => ({
      name,
      input: { names: [name], period: 1 },
      secret: undefined,
    }));
    for (const end of ['resumed', 'stopped', 'expired'] as const) {
      advance();
      const draft = requireAccepted(
        await rig.request('renew', {}, { bulk: { rows, findings: [], skippedCount: 0 } }),
      );
      orders.push(draft);
      advance();
      await confirmOrder(deps, draft.id, 'U0ALICE');
      await approve(draft);
      await apply(draft.id, { type: 'claimed', workerId: 'w' });
      await apply(draft.id, { type: 'sending', workerId: 'w', n: 1 });
      const result = { summary: { code: 'refused' }, code: 'EF01055', text: 'No' } as const;
      await apply(draft.id, { type: 'answered', n: 1, outcome: 'FAILED', result });
      await apply(draft.id, {
        type: 'paused',
        reason: { code: 'refusals', names: ['r1.rest'] },
        expiresAt: new Date(rig.now.getTime() + HOUR_MS),
        workerId: 'w',
      });
      if (end === 'resumed') {
        await expectOk(resumeOrder(deps, draft.id, 'U0BOB'));
        await runDueWork();
      } else if (end === 'stopped') {
        await expectOk(stopOrder(deps, draft.id, 'U0ALICE'));
      } else {
        advance(2 * HOUR_MS);
        await rig.recover();
      }
    }

    // Money.
    const price = (minor: number): Price => ({
      zone: 'rest',
      task: 'renew',
      period: 1,
      amount: { currency: 'EUR', minor },
      validFrom: '2026-01-01',
      source: 'C',
    });
    advance();
    await prices.save(diffPrices([], [price(1_800)]), 'U0ADA', rig.now);
    advance();
    const priceIncrease = [{ before: price(1_800), after: price(2_000) }];
    const proposals = newProposalStore(database, TEAM, { approvers: 'U0BOB', approval_ttl: '48h' });
    const propose = (change: ProposedChange, proposer = 'U0ADA') =>
      proposals.propose({ ...change, proposer, proposedAt: rig.now });
    const priceProposal = await propose({ kind: 'prices', payload: priceIncrease });
    advance();
    await confirmProposal(proposals, priceProposal.id, 'U0CAROL', rig.now);
    advance();
    const limit = { currency: 'EUR', minor: 1_000 };
    await budgets.add({ tag: undefined, span: 'month', amount: limit }, 'U0ADA', rig.now);
    await budgets.add({ tag: 'brand', span: 'year', amount: limit }, 'U0ADA', rig.now);
    const overBudgetOrder = await rig.orders.store.load(
      requireAccepted(await requestWithCosts(rig, deps, 'dear.rest')).id,
      'system',
    );
    if (overBudgetOrder === undefined) throw new Error('the order does not exist');
    orders.push(overBudgetOrder);
    await approve(overBudgetOrder);
    const overrun = { tag: null, period: '2026-03', currency: 'EUR', leftMinor: 1_000, orderMinor: 2_000 };
    await rig.realStore.recordShownOverruns(overBudgetOrder.id, [overrun]);
    await approve(overBudgetOrder, 'U0ADA');
    await runDueWork();
    const [month, year] = await budgets.list();
    await budgets.setAmount(month?.id ?? '', 9_000, 'U0ADA', rig.now);
    advance();
    await budgets.remove(year?.id ?? '', 'U0CAROL', rig.now);

    // Settings, the team's account, rules, presets.
    const settings = createSettingsStore(database);
    const change = { name: 'approval_ttl', before: '72h', after: '48h' };
    advance();
    await settings.save([change], 'U0ADA', rig.now);
    advance();
    const approvers = [{ name: 'approvers', before: 'U0BOB', after: 'U0BOB,U0EVE' }];
    const settingsProposal = await propose({ kind: 'settings', payload: approvers });
    await confirmProposal(proposals, settingsProposal.id, 'U0CAROL', rig.now);
    const withdrawnProposal = await propose({ kind: 'settings', payload: [change] });
    advance();
    await proposals.withdraw(withdrawnProposal, 'U0CAROL', rig.now);
    const team = createTeamAccountStore(database);
    const account = (login: string): TeamAccount => ({
      id: randomUUID(),
      teamId: TEAM,
      userId: undefined,
      method: 'trusted_application',
      slot: 'application',
      context: undefined,
      login,
      application: `the application ${login}`,
      isActive: true,
      verifiedAt: undefined,
      linkedBy: 'U0ADA',
    });
    const sealed = { keyId: 'demo', bytes: Uint8Array.from([1, 2, 3]) };
    for (const login of ['uuid-1', 'uuid-1', 'uuid-2']) {
      advance();
      await team.save(account(login), sealed, rig.now);
    }
    advance();
    await team.remove(TEAM, 'U0CAROL', rig.now);
    const policies = createPolicyStore(database, TEAM, true);
    const draftRules = async (rules: readonly PolicyRule[]) => {
      advance();
      const { revision } = getDraftBase(await policies.loadCurrentPolicy(), await policies.findDraft());
      const draft = await policies.saveDraft(rules, revision, 'U0ADA', rig.now);
      return draft?.revision ?? '';
    };
    const publish = async (rules: readonly PolicyRule[]) => {
      const revision = await draftRules(rules);
      advance();
      await policies.publish(revision, 'U0ADA', rig.now);
      await confirmPolicy(database, TEAM, revision, 'U0CAROL', rig.now);
    };
    await publish([
      newPolicyRule({ name: 'first', tasks: ['renew'] }),
      newPolicyRule({ name: 'second', tasks: ['create'] }),
    ]);
    await publish([
      newPolicyRule({ name: 'second', tasks: ['create'], needed: 2 }),
      newPolicyRule({ name: 'first', tasks: ['renew'] }),
    ]);
    await policies.discardDraft(await draftRules([]), 'U0CAROL', rig.now);
    const presets = createPresetStore(database, TEAM);
    const preset = { name: 'ours', kind: 'nameservers', fields: { nameServers: 'ns1.example.net' } } as const;
    advance();
    await presets.add(preset, 'U0ALICE', rig.now);
    const [savedPreset] = await presets.list();
    await presets.replace(savedPreset?.id ?? '', { ...preset, name: 'theirs' }, 'U0BOB', rig.now);
    advance();
    await presets.remove(savedPreset?.id ?? '', 'U0BOB', rig.now);

    // Names: the watch list, people's settings, and observed changes.
    const portfolio = createPortfolioStore(database, TEAM);
    const watchList = {
      portfolio,
      store: createWatchListStore(database),
      now: () => rig.now,
      log: silentLog,
    };
    const runStep = async (work: Promise<unknown>) => {
      await work;
      advance();
    };
    await runStep(watchName(watchList, async () => undefined, 'cafe.rest', '2027-09-01', 'U0ALICE'));
    await runStep(snoozeName(watchList, 'cafe.rest', 3, 'U0BOB', 'busy'));
    await runStep(requestLapse(watchList, 'cafe.rest', 'U0ALICE', 'not needed'));
    await runStep(confirmLapse(watchList, 'cafe.rest', 'U0BOB'));
    await runStep(watchName(watchList, async () => undefined, 'tea.rest', undefined, 'U0CAROL'));
    await runStep(unwatchName(watchList, 'tea.rest', 'U0BOB'));
    await runStep(importNames(watchList, 'a.rest\nb.rest,2027-09-01', 'U0ALICE', async () => undefined));
    await runStep(importNames(watchList, 'a.rest,2027-10-01', 'U0BOB', async () => undefined));
    const nameDetails = new Map([
      ['a.rest', { owner: 'U0BOB', tags: ['brand'], channel: 'C0BRAND', note: 'Ask “legal”' }],
    ]);
    await runStep(editNames(portfolio, nameDetails, 'U0ALICE', rig.now));
    const before = await portfolio.find('a.rest');
    if (before === undefined) throw new Error('the name is not watched');
    for (const after of [{ ...before, tags: [] }, undefined]) {
      const currentDetails = after === undefined ? { ...before, tags: [] } : before;
      const names = [{ name: 'a.rest', before: currentDetails, after }];
      const proposal = await propose({ kind: 'facts', payload: { names } }, 'U0ALICE');
      advance();
      await runStep(confirmProposal(proposals, proposal.id, 'U0BOB', rig.now));
    }
    const observations = createNameRecordStore(database, TEAM);
    const observed = await observations.find('b.rest');
    if (observed === undefined) throw new Error('the name has no record');
    const changeTimes = { beforeLastSeenAt: rig.now, afterFirstSeenAt: rig.now };
    const registrar = {
      kind: 'registrar',
      fact: 'registrar',
      before: ['name:Ours'],
      after: ['name:Theirs'],
      ...changeTimes,
    } as const;
    const incident = updateIncidents([], {
      name: 'b.rest',
      unexplainedChanges: [{ change: registrar, orders: [] }],
      history: observed.history,
      at: rig.now,
    });
    const { id = '' } = incident?.after ?? {};
    await runStep(observations.save(observed, { updatedRecord: observed, observations: [], incident }));
    const incidentStore = createIncidentStore(database, TEAM);
    const context = namesContextWith({
      incidents: incidentStore,
      portfolio: { findTags: async (names) => new Map(names.map((name) => [name, ['guarded']])) },
      records: { find: async () => undefined, requestLookup: async () => undefined },
      pollNotifications: () => undefined,
      now: () => rig.now,
    });
    await runStep(raiseAlarm(context, id, 'U0ADA'));
    const confirmAsOurs = async (by: string, reason: string) => {
      const shown = await incidentStore.find(id);
      if (shown === undefined) throw new Error('the incident does not exist');
      await runStep(confirmIncident(context, id, { by, reason, shownHash: hashIncident(shown) }));
    };
    await confirmAsOurs('U0ALICE', 'we moved it');
    await confirmAsOurs('U0BOB', 'I know of it');

    const openOrders = await rig.sql(`SELECT id, state, names FROM orders WHERE closed_at IS NULL`);
    if (openOrders.length > 0) throw new Error(`still open: ${JSON.stringify(openOrders)}`);
    return new Map(
      orders.flatMap(({ id, statementHash }, index) => [
        [id, `order-${index + 1}`],
        [statementHash, `statement-${index + 1}`],
      ]),
    );
  } finally {
    await database.close();
    await rig.end();
  }
}

/** Requests a renewal with the team's prices and budgets. */
function requestWithCosts(
  rig: Awaited<ReturnType<typeof startRig>>,
  deps: Parameters<typeof requestOrder>[0],
  name: string,
): ReturnType<typeof requestOrder> {
  rig.advanceClock(MINUTE_MS);
  return requestOrder(deps, {
    task: 'renew',
    input: { names: [name], period: 1 },
    secret: undefined,
    reason: undefined,
    requesterId: 'U0ALICE',
    account: rig.accounts.get('account-alice'),
    channelId: 'C0DOMAINS',
    threadTs: undefined,
    deliveryId: `command:${name}`,
  });
}
