import type { Subject } from '../outbox/notifications.ts';
import {
  createDeparturePlanner,
  createFailingEndpointPlanner,
  createUnreachableChannelPlanner,
  createUnreadableGroupPlanner,
} from './admins/admins.ts';
import type { SlackContext } from './context.ts';
import { createDigestPlanner } from './expiry/digest-notifications.ts';
import { createOwnerDayPlanner } from './expiry/owner-day.ts';
import { createEventPlanner } from './ledger/event-notifications.ts';
import { createAnchorPlanner } from './ledger/ledger-notifications.ts';
import { createMandateDayPlanner } from './mandates/mandate-day.ts';
import { createMoneyReportPlanner } from './money/money-report.ts';
import { createIncidentPlanner } from './names/incident-notifications.ts';
import { createOwnerLeftPlanner } from './names/owner-notifications.ts';
import { createOrderPlanner } from './orders/order-messages.ts';
import { type NotificationPlanner, notify } from './outbound/notify.ts';
import { createProposalPlanner } from './proposals/proposal-notifications.ts';

export function createNotifier(
  context: SlackContext,
): (subject: Subject, isClaimed: boolean) => Promise<void> {
  const notifierDeps = {
    ...context,
    leaseMs: context.notificationLeaseMs,
    planners: createPlanners(context),
  };
  return (subject, isClaimed) => notify(notifierDeps, subject, isClaimed);
}

function createPlanners(context: SlackContext): Readonly<Record<Subject['kind'], NotificationPlanner>> {
  return {
    order: createOrderPlanner(context),
    incident: createIncidentPlanner(context),
    digest: createDigestPlanner(context),
    report: createMoneyReportPlanner(context),
    channel: createUnreachableChannelPlanner(context),
    group: createUnreadableGroupPlanner(context),
    anchors: createAnchorPlanner(context),
    event: createEventPlanner(context),
    proposal: createProposalPlanner(context),
    webhook_endpoint: createFailingEndpointPlanner(context),
    mandate_day: createMandateDayPlanner(context),
    departure: createDeparturePlanner(context),
    owner_left: createOwnerLeftPlanner(context),
    owner_question: createOwnerDayPlanner(context),
  };
}
