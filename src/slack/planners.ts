import type { Subject } from '../outbox/notifications.ts';
import {
  createDeparturePlanner,
  createEndpointPlanner,
  createGroupPlanner,
  createPlacePlanner,
} from './admins/admins.ts';
import type { SlackContext } from './context.ts';
import { createDigestPlanner } from './expiry/digest-notifications.ts';
import { createEventPlanner } from './ledger/event-notifications.ts';
import { createAnchorPlanner } from './ledger/ledger-notifications.ts';
import { createMandateDayPlanner } from './mandates/mandate-day.ts';
import { createMoneyReportPlanner, createPriceDifferencePlanner } from './money/money-report.ts';
import { createIncidentPlanner } from './names/incident-notifications.ts';
import { createOrderPlanner } from './orders/order-messages.ts';
import { type NotificationPlanner, notify } from './outbound/notify.ts';
import { createPendingChangePlanner } from './settings/pending-change-notifications.ts';

/** The function that tells people of a subject. */
export function createNotifier(deps: SlackContext): (subject: Subject, isClaimed: boolean) => Promise<void> {
  const notifier = { ...deps, leaseMs: deps.notificationLeaseMs, planners: createPlanners(deps) };
  return (subject, isClaimed) => notify(notifier, subject, isClaimed);
}

/** Plans the messages about each kind of subject. */
function createPlanners(deps: SlackContext): Readonly<Record<Subject['kind'], NotificationPlanner>> {
  const month = createMoneyReportPlanner(deps);
  const day = createPriceDifferencePlanner(deps);
  return {
    order: createOrderPlanner(deps),
    incident: createIncidentPlanner(deps),
    digest: createDigestPlanner(deps),
    report: (claim, send) => (claim.id.length === 'YYYY-MM'.length ? month : day)(claim, send),
    place: createPlacePlanner(deps),
    group: createGroupPlanner(deps),
    anchors: createAnchorPlanner(deps),
    event: createEventPlanner(deps),
    pending_change: createPendingChangePlanner(deps),
    webhook_endpoint: createEndpointPlanner(deps),
    mandate_day: createMandateDayPlanner(deps),
    departure: createDeparturePlanner(deps),
  };
}
