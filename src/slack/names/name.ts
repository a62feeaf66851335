import { findMandate } from '../../mandates/overview.ts';
import { NO_FILTER } from '../../names/filter.ts';
import { assessPosture, judgeName } from '../../names/posture.ts';
import { filterVisibleIds, listVisible } from '../../orders/visibility.ts';
import { calendarDay } from '../../zones/calendar-day.ts';
import { parseDomainName } from '../../zones/names.ts';
import { checkRegistrable } from '../../zones/rules.ts';
import { loadNameWaitingCosts } from '../approvals/waiting.ts';
import { type CommandCall, type Feature, toViewer } from '../feature.ts';
import { type AnyBlock, ownSentence } from '../kit/blocks.ts';
import { proposalMessage } from '../proposals/views.ts';
import { NAME_USAGE, nameScreen } from './name.view.ts';
import { zoneIssueText } from './zone-issue.view.ts';

/* The page about one name. */

const ORDERS_SHOWN = 20;

async function runName(call: CommandCall): Promise<void> {
  const [word, ...more] = call.words;
  if (word === undefined || more.length > 0) return call.respond(NAME_USAGE);
  const parsed = parseDomainName(word);
  if (!parsed.ok) return call.respond(ownSentence(zoneIssueText(parsed.issue)));
  const { ascii } = parsed.value;
  const { expiry, names, orders, portfolio, savedSettings } = call.context;
  const now = call.context.now();
  const [
    listed,
    [judgedName],
    knownName,
    visibleOrders,
    { reminderDays, reminderTimezone },
    details,
    incidents,
    mandate,
    pendingChangeBlocks,
  ] = await Promise.all([
    expiry.findListed(ascii),
    portfolio.listJudgedNames({ filter: NO_FILTER, owners: [], names: [ascii], now }),
    names.known(ascii),
    listVisible(orders, toViewer(call), { name: ascii, limit: ORDERS_SHOWN }),
    savedSettings(),
    portfolio.find(ascii),
    names.incidents.listOpen([ascii]),
    findMandate(call.context.orders, ascii, toViewer(call)),
    loadPendingChangeBlocks(call, ascii),
  ]);
  // Registries have no records of hosts.
  const hostIssue = checkRegistrable(parsed.value).find(
    ({ code }) => code === 'below_registered_name' || code === 'public_suffix',
  );
  if (listed === undefined && hostIssue !== undefined)
    return call.respond(ownSentence(zoneIssueText(hostIssue)));
  await call.respond(
    nameScreen({
      hasService: call.context.hasService,
      name: ascii,
      listed,
      known: knownName,
      orders: visibleOrders,
      visible: await filterVisibleIds(
        orders,
        toViewer(call),
        knownName.knownChanges.flatMap(({ orderId }) => orderId ?? []),
      ),
      incidents,
      changes: pendingChangeBlocks,
      judgement: judgeName(
        {
          ...NOT_WATCHED,
          posture: assessPosture(
            { name: ascii, history: knownName.history, at: now, certificateDays: [] },
            undefined,
          ),
          ...judgedName,
        },
        now,
      ),
      details,
      mandate,
      renewWithinDays: Math.max(0, ...reminderDays),
      waiting: await loadNameWaitingCosts(call.context, listed?.domain),
      today: calendarDay(now, reminderTimezone),
    }),
  );
}

/** If a name isn't watched, only lookups are judged. Lapsing names have no findings about dates and owners. */
const NOT_WATCHED = {
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
  const pending = openProposals.filter(
    ({ kind, payload }) =>
      (kind === 'facts' || domain?.lapse !== undefined) &&
      payload.names.some((changed) => changed.name === name),
  );
  const messages = pending.map((each) => proposalMessage(context, each, person.id));
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
