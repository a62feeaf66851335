import type { Account } from '../accounts/account.ts';
import type { ReminderStore, WatchListStore } from '../expiry/ports.ts';
import type { LedgerStore } from '../ledger/ports.ts';
import { outlookOf } from '../mandates/overview.ts';
import type { MoneyReportStore } from '../money/ports.ts';
import type { IncidentStore, NameRecordStore } from '../names/ports.ts';
import { isAtAnotherRegistrar } from '../names/trust.ts';
import type { NotificationStore, Subject } from '../outbox/notifications.ts';
import {
  createDeparturePlanner,
  createEndpointPlanner,
  createGroupPlanner,
  createPlacePlanner,
} from './admins/admins.ts';
import type { SlackContext } from './context.ts';
import { createDigestPlanner, createDigestViews } from './expiry/digest-notifications.ts';
import { createEventPlanner } from './ledger/event-notifications.ts';
import { createAnchorPlanner } from './ledger/ledger-notifications.ts';
import { createMandateDayPlanner } from './mandates/mandate-day.ts';
import { createMoneyReportPlanner, createPriceDifferencePlanner } from './money/money-report.ts';
import { createIncidentPlanner } from './names/incident-notifications.ts';
import { createOrderPlanner } from './orders/order-messages.ts';
import { type NotificationPlanner, notify } from './outbound/notify.ts';
import { createPendingChangePlanner } from './settings/pending-change-notifications.ts';

/** What telling people needs beside what features need. */
export interface NotificationSources {
  readonly notifications: NotificationStore;
  /** How long the messages of a subject belong to a process without a sign of life. */
  readonly leaseMs: number;
  readonly incidents: IncidentStore;
  readonly records: Pick<NameRecordStore, 'find' | 'newlyFaulty' | 'newlyUnrecorded'>;
  readonly ledger: Pick<LedgerStore, 'anchorsBetween'>;
  readonly watchList: WatchListStore;
  readonly reminders: ReminderStore;
  readonly reports: MoneyReportStore;
  /** The account that people without one of their own ask with. */
  readonly teamAccount: () => Promise<Account | undefined>;
  /** Ends what is under way at shutdown. */
  readonly signal: AbortSignal;
  /** Between two messages in one place, milliseconds; the default of the digest when left out. */
  readonly pauseMs?: number;
}

/** The function that tells people of a subject. */
export function createNotifier(
  deps: SlackContext,
  from: NotificationSources,
): (subject: Subject, isClaimed: boolean) => Promise<void> {
  const { web, directory, now, log } = deps;
  const { notifications, leaseMs } = from;
  const notifier = { web, directory, notifications, leaseMs, planners: createPlanners(deps, from), now, log };
  return (subject, isClaimed) => notify(notifier, subject, isClaimed);
}

/** Which messages there are to be, by the kind of what they tell. */
function createPlanners(
  deps: SlackContext,
  from: NotificationSources,
): Readonly<Record<Subject['kind'], NotificationPlanner>> {
  const {
    directory,
    adminsToNotify,
    savedSettings,
    prices,
    budgets,
    spending,
    orders,
    names,
    expiry,
    now,
    log,
  } = deps;
  const { reports } = from;
  const month = createMoneyReportPlanner({ savedSettings, prices, spending, budgets, reports, now });
  const day = createPriceDifferencePlanner({ directory, adminsToNotify, prices, reports });
  return {
    order: createOrderPlanner(deps),
    incident: createIncidentPlanner({
      incidents: from.incidents,
      store: orders.store,
      directory,
      savedSettings,
      adminsToNotify,
      nameOf: async (name) => {
        const [watched, details, record] = await Promise.all([
          expiry.find(name),
          deps.portfolio.find(name),
          from.records.find(name),
        ]);
        return {
          owner: details?.owner ?? watched?.registeredBy ?? watched?.addedBy,
          channel: details?.channel,
          registrar: record?.trusted?.registrar,
          isElsewhere: record !== undefined && isAtAnotherRegistrar(record, now()),
        };
      },
      now,
    }),
    digest: createDigestPlanner({
      store: from.watchList,
      reminders: from.reminders,
      outlookOf: (watched) => outlookOf(deps.orders, watched, 'system'),
      directory,
      savedSettings,
      views: createDigestViews({ savedSettings, prices, now }),
      records: from.records,
      signal: from.signal,
      now,
      ...(from.pauseMs === undefined ? {} : { pauseMs: from.pauseMs }),
    }),
    report: (claim, send) => (claim.id.length === 'YYYY-MM'.length ? month : day)(claim, send),
    place: createPlacePlanner({ directory, adminsToNotify, savedSettings }),
    group: createGroupPlanner({ directory, adminsToNotify }),
    anchors: createAnchorPlanner({ savedSettings, ledger: from.ledger }),
    event: createEventPlanner({
      directory,
      adminsToNotify,
      events: deps.events,
      impacts: names.impacts,
      savedSettings,
      prices,
      expiry,
      now,
      log,
    }),
    pending_change: createPendingChangePlanner({
      directory,
      adminsToNotify,
      savedSettings,
      facts: deps.facts,
      pendingChanges: deps.pendingChanges,
      policies: deps.policies,
      now,
    }),
    webhook_endpoint: createEndpointPlanner({ directory, adminsToNotify, webhooks: deps.webhooks }),
    mandate_day: createMandateDayPlanner(deps),
    departure: createDeparturePlanner({ directory, adminsToNotify, teamAccount: from.teamAccount }),
  };
}
