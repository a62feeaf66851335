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
import { silent } from '../expiry/rig.ts';
import { HOUR_MS, MINUTE_MS, requireAccepted, startRig, waitUntil } from '../orders/rig.ts';
import { DONE, newServiceError } from '../orders/scripted-service.ts';
import { rule } from '../policy/sample.ts';
import { namesContextWith } from './names-context.ts';
import { confirmPolicy, confirmProposal, proposalsOf } from './proposals.ts';
import {
  confirmLapse,
  edit,
  importNames,
  requestLapse,
  snoozeName,
  unwatchName,
  watchName,
} from './unprotected.ts';

const TEAM = 'T0STEWARD';
const SECOND_MS = 1_000;
const ADMINS: ReadonlySet<string> = new Set(['U0ADA', 'U0CAROL']);

/** Values that differ between runs, with their replacement in the audit file. */
export type Generated = ReadonlyMap<string, string>;

/**
 * A day with every kind of event of the audit log, by the use cases on the real stores and a clock that advances a
 * second at a time.
 * @param url an empty database
 */
export async function recordDay(url: string): Promise<Generated> {
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
    const pass = (ms = SECOND_MS) => rig.advanceClock(ms);
    const ask = async (...given: Parameters<typeof rig.requestAccepted>): Promise<Order> => {
      pass();
      const order = await rig.requestAccepted(...given);
      orders.push(order);
      return order;
    };
    const ok = async (outcome: Promise<{ readonly ok: boolean }>): Promise<void> => {
      const settled = await outcome;
      if (!settled.ok) throw new Error(JSON.stringify(settled));
      pass();
    };
    const approve = (order: Order, by = 'U0BOB', reason?: string) =>
      ok(approveOrder(deps, order.id, by, reason));
    const run = async () => {
      pass();
      await rig.runDue();
    };
    /** Responds to the items of an order one after the other. */
    const answerInOrder =
      (answer: () => Promise<typeof DONE>): typeof rig.service.answer =>
      async ({ ctid }) => {
        const [id = '', n = '1'] = ctid.split('.');
        await waitUntil('the previous item has a response', async () => {
          const { items } = await rig.read(id);
          return items.every((item) => item.n >= Number(n) || !['WAITING', 'SENT'].includes(item.state));
        });
        return answer();
      };
    /** Events that no request can cause. */
    const apply = async (id: string, event: OrderEvent) => {
      pass();
      const before = await rig.read(id);
      const changed = transition(before, event, rig.now);
      if (!changed.ok) throw new Error(`${event.type}: ${changed.refusal.code}`);
      await ok(rig.store.commit({ before, after: changed.order, log: changed.log, guard: 'no_signatures' }));
    };
    const renewal = (...names: string[]) => ask('renew', { names, period: 1 }, { reason: 'for the year' });

    // Decisions, and orders that close without one.
    const plain = await renewal('plain.rest');
    await ok(askRequester(deps, plain.id, 'U0BOB', 'is it still used?'));
    await approve(plain, 'U0BOB', 'fine');
    await run();
    await ok(denyOrder(deps, (await renewal('denied.rest')).id, 'U0BOB', 'too dear'));
    await ok(cancelOrder(deps, (await renewal('cancelled.rest')).id, 'U0ALICE'));
    const stopped = await renewal('stopped.rest');
    await approve(stopped);
    await ok(stopOrder(deps, stopped.id, 'U0ALICE'));
    const late = await renewal('late.rest');
    pass(5 * HOUR_MS);
    await rig.recover();
    pass(24 * HOUR_MS);
    await apply(late.id, { type: 'escalated', to: ['U0EVE'], toAdmins: true });
    pass(72 * HOUR_MS);
    await rig.recover();
    const confirmed = await ask('nameservers', {
      name: 'servers.rest',
      nameServers: ['ns1.example.net', 'ns2.example.net'],
    });
    if (confirmed.state === 'PENDING') await approve(confirmed);
    await run();
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
    await run();
    const denied = await renewal('denied-by-rule.rest');
    await ok(denyOrder(deps, denied.id, 'U0CAROL', 'not now'));
    pass();
    await rig.standIns.end('U0LEA', rig.now);
    const urgent = await renewal('urgent.rest');
    await ok(approveInEmergency(deps, urgent.id, 'U0ADA', 'the shop is down'));
    await run();
    await ok(signOff(deps, urgent.id, 'U0CAROL'));
    rig.setPolicy(0);

    // Responses of the service, and missing ones.
    rig.service.answer = async () => {
      throw newServiceError('refused', { code: 'EF01055', httpStatus: 400 });
    };
    const failed = await renewal('failed.rest');
    await approve(failed);
    await run();
    rig.service.answer = async () => DONE;
    pass();
    const retried = requireAccepted(await retryOrder(deps, failed.id, 'U0ALICE'));
    orders.push(retried);
    await approve(retried);
    await run();
    rig.service.answer = answerInOrder(async () => {
      throw newServiceError('unknown_outcome');
    });
    const doubtful = await renewal('doubtful.rest', 'doubtful-too.rest');
    await approve(doubtful);
    await run();
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
      seen: { code: 'registered' },
      n: 1,
    });
    await ok(resolveOrder(deps, doubtful.id, 'U0BOB', 'FAILED', 'looked at the service'));
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
    await run();
    rig.service.answer = async () => DONE;
    pass(HOUR_MS);
    await run();
    const lost = await renewal('lost.rest');
    await approve(lost);
    await apply(lost.id, { type: 'claimed', workerId: 'w' });
    await apply(lost.id, { type: 'sending', workerId: 'w', n: 1 });
    await apply(lost.id, { type: 'released' });
    await ok(resolveOrder(deps, lost.id, 'U0BOB', 'SUCCEEDED', undefined));
    const restored = await renewal('restored.rest');
    await approve(restored);
    await apply(restored.id, { type: 'invalidated', summary: { code: 'database_restored' } });
    await ok(resolveOrder(deps, restored.id, 'U0BOB', 'FAILED', 'it was not sent'));
    await apply(plain.id, { type: 'overdue', n: 1, days: 8 });
    await apply(plain.id, { type: 'confirmed_by_registry', n: 1 });
    const fetched = await ask('authcode', { name: 'moved.rest' });
    if (fetched.state === 'PENDING') await approve(fetched);
    await run();
    await revealSecret(deps, fetched.id, 'U0ALICE');

    rig.service.answer = answerInOrder(async () => DONE);
    // Bulk orders: one row ends on its own, the others wait, continue, and are stopped.
    const rows = ['r1.rest', 'r2.rest', 'r3.rest'].map((name) => ({
      name,
      input: { names: [name], period: 1 },
      secret: undefined,
    }));
    for (const end of ['resumed', 'stopped', 'expired'] as const) {
      pass();
      const draft = requireAccepted(
        await rig.request('renew', {}, { bulk: { rows, findings: [], skipped: 0 } }),
      );
      orders.push(draft);
      pass();
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
        await ok(resumeOrder(deps, draft.id, 'U0BOB'));
        await run();
      } else if (end === 'stopped') {
        await ok(stopOrder(deps, draft.id, 'U0ALICE'));
      } else {
        pass(2 * HOUR_MS);
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
    pass();
    await prices.save(diffPrices([], [price(1_800)]), 'U0ADA', rig.now);
    pass();
    const dearer = [{ before: price(1_800), after: price(2_000) }];
    const proposals = proposalsOf(database, TEAM, { approvers: 'U0BOB', approval_ttl: '48h' });
    const propose = (change: ProposedChange, proposer = 'U0ADA') =>
      proposals.propose({ ...change, proposer, proposedAt: rig.now });
    const proposedPrice = await propose({ kind: 'prices', payload: dearer });
    pass();
    await confirmProposal(proposals, proposedPrice.id, 'U0CAROL', rig.now);
    pass();
    const limit = { currency: 'EUR', minor: 1_000 };
    await budgets.add({ tag: undefined, span: 'month', amount: limit }, 'U0ADA', rig.now);
    await budgets.add({ tag: 'brand', span: 'year', amount: limit }, 'U0ADA', rig.now);
    const exceeding = await rig.orders.store.load(
      requireAccepted(await requestWithCosts(rig, deps, 'dear.rest')).id,
      'system',
    );
    if (exceeding === undefined) throw new Error('the order does not exist');
    orders.push(exceeding);
    await approve(exceeding);
    const excess = { tag: null, period: '2026-03', currency: 'EUR', leftMinor: 1_000, orderMinor: 2_000 };
    await rig.realStore.recordShownOverruns(exceeding.id, [excess]);
    await approve(exceeding, 'U0ADA');
    await run();
    const [month, year] = await budgets.list();
    await budgets.setAmount(month?.id ?? '', 9_000, 'U0ADA', rig.now);
    pass();
    await budgets.remove(year?.id ?? '', 'U0CAROL', rig.now);

    // Settings, the team's account, rules, presets.
    const settings = createSettingsStore(database);
    const change = { name: 'approval_ttl', before: '72h', after: '48h' };
    pass();
    await settings.save([change], 'U0ADA', rig.now);
    pass();
    const approvers = [{ name: 'approvers', before: 'U0BOB', after: 'U0BOB,U0EVE' }];
    const proposed = await propose({ kind: 'settings', payload: approvers });
    await confirmProposal(proposals, proposed.id, 'U0CAROL', rig.now);
    const dropped = await propose({ kind: 'settings', payload: [change] });
    pass();
    await proposals.withdraw(dropped, 'U0CAROL', rig.now);
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
      pass();
      await team.save(account(login), sealed, rig.now);
    }
    pass();
    await team.remove(TEAM, 'U0CAROL', rig.now);
    const policies = createPolicyStore(database, TEAM, true);
    const draftRules = async (rules: readonly PolicyRule[]) => {
      pass();
      const { revision } = getDraftBase(await policies.current(), await policies.findDraft());
      const draft = await policies.saveDraft(rules, revision, 'U0ADA', rig.now);
      return draft?.revision ?? '';
    };
    const publish = async (rules: readonly PolicyRule[]) => {
      const revision = await draftRules(rules);
      pass();
      await policies.publish(revision, 'U0ADA', rig.now);
      await confirmPolicy(database, TEAM, revision, 'U0CAROL', rig.now);
    };
    await publish([rule({ name: 'first', tasks: ['renew'] }), rule({ name: 'second', tasks: ['create'] })]);
    await publish([
      rule({ name: 'second', tasks: ['create'], needed: 2 }),
      rule({ name: 'first', tasks: ['renew'] }),
    ]);
    await policies.discardDraft(await draftRules([]), 'U0CAROL', rig.now);
    const presets = createPresetStore(database, TEAM);
    const preset = { name: 'ours', kind: 'nameservers', fields: { nameServers: 'ns1.example.net' } } as const;
    pass();
    await presets.add(preset, 'U0ALICE', rig.now);
    const [kept] = await presets.list();
    await presets.replace(kept?.id ?? '', { ...preset, name: 'theirs' }, 'U0BOB', rig.now);
    pass();
    await presets.remove(kept?.id ?? '', 'U0BOB', rig.now);

    // Names: the watch list, people's settings, and observed changes.
    const portfolio = createPortfolioStore(database, TEAM);
    const watchList = {
      portfolio,
      store: createWatchListStore(database),
      now: () => rig.now,
      log: silent,
    };
    const step = async (work: Promise<unknown>) => {
      await work;
      pass();
    };
    await step(watchName(watchList, async () => undefined, 'cafe.rest', '2027-09-01', 'U0ALICE'));
    await step(snoozeName(watchList, 'cafe.rest', 3, 'U0BOB', 'busy'));
    await step(requestLapse(watchList, 'cafe.rest', 'U0ALICE', 'not needed'));
    await step(confirmLapse(watchList, 'cafe.rest', 'U0BOB'));
    await step(watchName(watchList, async () => undefined, 'tea.rest', undefined, 'U0CAROL'));
    await step(unwatchName(watchList, 'tea.rest', 'U0BOB'));
    await step(importNames(watchList, 'a.rest\nb.rest,2027-09-01', 'U0ALICE', async () => undefined));
    await step(importNames(watchList, 'a.rest,2027-10-01', 'U0BOB', async () => undefined));
    const set = new Map([
      ['a.rest', { owner: 'U0BOB', tags: ['brand'], channel: 'C0BRAND', note: 'Ask “legal”' }],
    ]);
    await step(edit(portfolio, set, 'U0ALICE', rig.now));
    const before = await portfolio.find('a.rest');
    if (before === undefined) throw new Error('the name is not watched');
    for (const after of [{ ...before, tags: [] }, undefined]) {
      const now = after === undefined ? { ...before, tags: [] } : before;
      const names = [{ name: 'a.rest', before: now, after }];
      const waiting = await propose({ kind: 'facts', payload: { names } }, 'U0ALICE');
      pass();
      await step(confirmProposal(proposals, waiting.id, 'U0BOB', rig.now));
    }
    const observations = createNameRecordStore(database, TEAM);
    const observed = await observations.find('b.rest');
    if (observed === undefined) throw new Error('the name has no record');
    const seen = { beforeLastSeenAt: rig.now, afterFirstSeenAt: rig.now };
    const registrar = {
      kind: 'registrar',
      fact: 'registrar',
      before: ['name:Ours'],
      after: ['name:Theirs'],
      ...seen,
    } as const;
    const incident = updateIncidents([], {
      name: 'b.rest',
      unexplained: [{ change: registrar, orders: [] }],
      history: observed.history,
      at: rig.now,
    });
    const { id = '' } = incident?.after ?? {};
    await step(observations.save(observed, { after: observed, observations: [], incident }));
    const incidentStore = createIncidentStore(database, TEAM);
    const context = namesContextWith({
      incidents: incidentStore,
      portfolio: { findTags: async (names) => new Map(names.map((name) => [name, ['guarded']])) },
      records: { find: async () => undefined, requestLookup: async () => undefined },
      pollNotifications: () => undefined,
      now: () => rig.now,
    });
    await step(raiseAlarm(context, id, 'U0ADA'));
    const confirmAsOurs = async (by: string, reason: string) => {
      const shown = await incidentStore.find(id);
      if (shown === undefined) throw new Error('the incident does not exist');
      await step(confirmIncident(context, id, { by, reason, shownHash: hashIncident(shown) }));
    };
    await confirmAsOurs('U0ALICE', 'we moved it');
    await confirmAsOurs('U0BOB', 'I know of it');

    const open = await rig.sql(`SELECT id, state, names FROM orders WHERE closed_at IS NULL`);
    if (open.length > 0) throw new Error(`still open: ${JSON.stringify(open)}`);
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

/** Requests with the team's prices and budgets. */
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
