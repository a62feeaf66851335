import { findCoveringMandate } from '../../mandates/overview.ts';
import { NO_FILTER } from '../../names/filter.ts';
import { assessName, createPosture } from '../../names/posture.ts';
import { filterVisibleOrderIds, listVisibleOrders } from '../../orders/visibility.ts';
import { formatCalendarDay } from '../../zones/calendar-day.ts';
import { parseDomainName } from '../../zones/names.ts';
import { checkRegistrable } from '../../zones/rules.ts';
import { loadNameWaitingCosts } from '../approvals/waiting.ts';
import { type CommandCall, type Feature, toViewer } from '../feature.ts';
import { type AnyBlock, escapeExceptCode } from '../kit/blocks.ts';
import { buildProposalMessage } from '../proposals/views.ts';
import { NAME_USAGE, nameMessage } from './name.view.ts';
import { formatZoneIssue } from './zone-issue.view.ts';

const MAX_ORDERS_SHOWN = 20;

async function runName(call: CommandCall): Promise<void> {
  const [word, ...more] = call.words;
  if (word === undefined || more.length > 0) return call.respond(NAME_USAGE);
  const parsed = parseDomainName(word);
  if (!parsed.ok) return call.respond(escapeExceptCode(formatZoneIssue(parsed.issue)));
  const { ascii } = parsed.value;
  const { expiry, names, orders, portfolio, loadSettings } = call.context;
  const now = call.context.now();
  const [
    listedName,
    [assessedName],
    knownName,
    visibleOrders,
    { reminderDays, reminderTimezone },
    details,
    incidents,
    mandate,
    pendingChangeBlocks,
  ] = await Promise.all([
    expiry.findListedName(ascii),
    portfolio.listAssessedNames({ filter: NO_FILTER, owners: [], names: [ascii], now }),
    names.loadKnownName(ascii),
    listVisibleOrders(orders, toViewer(call), { name: ascii, limit: MAX_ORDERS_SHOWN }),
    loadSettings(),
    portfolio.find(ascii),
    names.incidents.listOpen([ascii]),
    findCoveringMandate(call.context.orders, ascii, toViewer(call)),
    loadPendingChangeBlocks(call, ascii),
  ]);
  // Registries have no records of subdomains and public suffixes.
  const hostIssue = checkRegistrable(parsed.value).find(
    ({ code }) => code === 'subdomain' || code === 'public_suffix',
  );
  if (listedName === undefined && hostIssue !== undefined)
    return call.respond(escapeExceptCode(formatZoneIssue(hostIssue)));
  await call.respond(
    nameMessage({
      hasService: call.context.hasService,
      name: ascii,
      listedName,
      knownName,
      orders: visibleOrders,
      visibleOrderIds: await filterVisibleOrderIds(
        orders,
        toViewer(call),
        knownName.knownChanges.flatMap(({ orderId }) => orderId ?? []),
      ),
      incidents,
      pendingChangeBlocks,
      assessment: assessName(
        {
          ...UNWATCHED_NAME,
          posture: createPosture(
            { name: ascii, history: knownName.history, at: now, certificateDays: [] },
            undefined,
          ),
          ...assessedName,
        },
        now,
      ),
      details,
      mandate,
      renewWithinDays: Math.max(0, ...reminderDays),
      delayStages: await loadNameWaitingCosts(call.context, listedName?.domain),
      today: formatCalendarDay(now, reminderTimezone),
    }),
  );
}

/** Only the lookups of an unwatched name are assessed: `isLapsing` prevents findings about dates and owners. */
const UNWATCHED_NAME = {
  expiresAt: undefined,
  deletedAt: undefined,
  isLapsing: true,
  hasOwner: false,
  incidentSince: undefined,
};

async function loadPendingChangeBlocks(
  { context, person }: CommandCall,
  name: string,
): Promise<readonly AnyBlock[]> {
  const [openProposals, domain] = await Promise.all([
    context.proposals.list(['facts', 'lapse']),
    context.expiry.find(name),
  ]);
  // A renewal cancels the request to let a name lapse.
  const pendingProposals = openProposals.filter(
    ({ kind, payload }) =>
      (kind === 'facts' || domain?.lapse !== undefined) &&
      payload.names.some((changed) => changed.name === name),
  );
  const messages = pendingProposals.map((proposal) => buildProposalMessage(context, proposal, person.id));
  return (await Promise.all(messages)).flatMap(({ blocks }) => blocks);
}

export const name = {
  commands: [
    {
      usage: 'name NAME',
      summary: 'Show a name’s dates, registrar, DNS and history',
      example: '/domain name cafe.rest',
      run: runName,
    },
  ],
} as const satisfies Feature;
