import { createCharterWatch } from '../approvals/charter-watch.ts';
import { openDigest } from '../expiry/digest.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../lib/duration.ts';
import { runMandates } from '../mandates/run.ts';
import type { Webhooks } from '../outbox/webhooks/webhooks.ts';
import type { SlackContext } from '../slack/context.ts';
import { openMoneyReport, openPriceDifferences } from '../slack/money/money-report.ts';
import type { Stores } from '../store/stores.ts';
import { PACE } from './seams.ts';
import type { Site, Slack } from './start.ts';
import type { Job } from './work.ts';

export interface JobParts {
  readonly deps: SlackContext;
  readonly stores: Stores;
  readonly slack: Slack;
  readonly ledger: Ledger & { readonly stamp: () => Promise<void> };
  readonly webhooks: Webhooks;
  readonly takeBackup: () => Promise<void>;
  readonly checkDepartures: () => Promise<void>;
}

/** Longer than a year, so that the last renewal of a name is in its history. */
const OBSERVATIONS_KEPT_MS = 400 * DAY_MS;

/** Everything that runs periodically. No job waits for another. */
export function jobsOf({ now, seams, bus, log }: Site, parts: JobParts): readonly Job[] {
  const { deps, stores, slack, ledger, webhooks } = parts;
  const { savedSettings, names } = deps;
  const { reminders } = deps;
  const { purgeMs, periodMs } = seams.pace ?? PACE;
  const watchCharter = createCharterWatch({
    ...{ signing: deps.orders.signing, keys: stores.keys, now, log },
    noted: () => {
      void bus.emit('notificationsDue');
      void deps.refreshWaitingCards();
    },
  });
  return [
    { name: 'mandates', everyMs: 10 * MINUTE_MS, run: () => runMandates(deps.orders) },
    {
      name: 'digest',
      everyMs: MINUTE_MS,
      run: () => openDigest({ settings: savedSettings, reminders, now }),
    },
    { name: 'money_report', everyMs: MINUTE_MS, run: () => openMoneyReport(deps) },
    {
      name: 'price_differences',
      everyMs: MINUTE_MS,
      run: () => openPriceDifferences(deps),
    },
    { name: 'webhook_endpoints', everyMs: HOUR_MS, run: webhooks.serve },
    { name: 'webhook_test', everyMs: MINUTE_MS, run: webhooks.testMonthly },
    {
      name: 'slack_outage',
      everyMs: MINUTE_MS,
      run: async () => {
        await slack.token.check();
        await webhooks.noteSlack(slack.outage.current());
      },
    },
    // A few of them each second.
    { name: 'guarded_names', everyMs: 1_000, run: names.lookAtGuarded, whenBehind: 'early' },
    { name: 'departures', everyMs: HOUR_MS, run: parts.checkDepartures, whenBehind: 'early' },
    {
      name: 'expired_orders',
      everyMs: purgeMs,
      run: () => stores.orders.purgeExpired(now()),
      whenBehind: 'early',
    },
    {
      name: 'expired_proposals',
      everyMs: purgeMs,
      run: () => stores.purgePendingChanges(now()),
      whenBehind: 'early',
    },
    { name: 'expired_links', everyMs: purgeMs, run: () => stores.links.purge(now()), whenBehind: 'early' },
    {
      name: 'old_observations',
      everyMs: HOUR_MS,
      run: () => stores.names.purgeObservations(new Date(now().getTime() - OBSERVATIONS_KEPT_MS)),
    },
    { name: 'backup', everyMs: 10 * MINUTE_MS, run: parts.takeBackup, isCutOffAtStop: true },
    { name: 'seals', everyMs: periodMs, run: ledger.sealAndAnchor, whenBehind: 'early' },
    { name: 'seal_alert', everyMs: periodMs, run: ledger.alertIfStalled },
    { name: 'ledger_check', everyMs: MINUTE_MS, run: ledger.checkIfDue },
    // People are told within a minute.
    { name: 'charter', everyMs: 10_000, run: watchCharter },
    { name: 'time_stamps', everyMs: MINUTE_MS, run: ledger.stamp },
  ];
}
