import type { Deadline } from '../../expiry/deadline.ts';
import type { ListedName, ListPage } from '../../expiry/expiry.ts';
import type { RenewalDays } from '../../expiry/ports.ts';
import { dropMissing } from '../../lib/collections.ts';
import type { DelayStage } from '../../money/waiting.ts';
import { isDateless } from '../../names/dates.ts';
import { getExpiry, getOwnerAnswer } from '../../names/portfolio.ts';
import { formatDomainName } from '../../zones/names.ts';
import {
  actions,
  button,
  context,
  escapeLine,
  escapeText,
  formatCount,
  formatUtcDate,
  type Message,
  mention,
  message,
  section,
  textMessage,
} from '../kit/blocks.ts';
import { formatUnreliableDateReason } from '../names/doubt.view.ts';
import { ownerWithAnswerText } from '../names/owner.view.ts';
import { DATELESS_STATE } from './dateless.view.ts';
import {
  buildDueStatus,
  deadlineText,
  dueTimeText,
  expiryActionButtons,
  lineWithMenu,
  priceText,
  type RenewalCapability,
} from './due.view.ts';
import { formatDay, formatName } from './expiry.view.ts';

/** Returns an empty list if the cost of waiting is unknown. */
export type CalculateCost = (listedName: ListedName) => readonly DelayStage[];

export const NAMES_PER_PAGE = 20;

export function expiringMessage(
  page: ListPage,
  { days, offset, now }: { readonly days: number; readonly offset: number; readonly now: Date },
  calculateCost: CalculateCost,
  renewals: RenewalDays,
  capability: RenewalCapability,
): Message {
  const total = page.deleted + page.dated + page.undated;
  const period = `within ${formatCount(days, 'day')}`;
  if (total === 0) {
    return textMessage(
      `No watched names expire ${period}. To add names, use \`/domain watch NAME\` or \`/domain import\`.`,
    );
  }
  const lastPosition = Math.min(offset + NAMES_PER_PAGE, total);
  const deletedSuffix = page.deleted === 0 ? '' : `, ${formatCount(page.deleted, 'name')} deleted early`;
  const undatedSuffix =
    page.undated === 0 ? '' : `, ${formatCount(page.undated, 'name')} without an expiry date`;
  const title = `${formatCount(page.dated, 'name')} expiring ${period}${deletedSuffix}${undatedSuffix}`;
  const [first] = page.names;
  const range = total > page.names.length ? `\nShowing ${offset + 1}–${lastPosition} of ${total}` : '';
  const pageButton = (actionId: string, label: string, targetOffset: number) =>
    button(actionId, label, `${days}:${targetOffset}`);
  return message(
    `${title}${first === undefined ? '' : `, first ${escapeText(formatDomainName(first.domain.name))}${urgencySuffix(first, calculateCost)}`}`,
    [
      section(`*${title}*${range}`),
      ...page.names.flatMap((listedName, index) =>
        lineWithMenu(
          section(...listedLines(listedName, calculateCost(listedName), renewals, now)),
          `due_${index}`,
          listedName.domain.lapse?.confirmed === undefined
            ? expiryActionButtons(
                { name: listedName.domain.name, registrar: listedName.domain.trusted?.registrar },
                listedName.deadline,
                capability,
              )
            : [],
        ),
      ),
      ...actions('expiring', [
        offset > 0 && pageButton('expiring_previous', 'Previous', Math.max(0, offset - NAMES_PER_PAGE)),
        lastPosition < total && pageButton('expiring_next', 'Next', lastPosition),
      ]),
      page.names.some(({ domain }) => domain.expiry === undefined && isDateless(domain)) &&
        context(
          'Some registries publish no dates. To get reminders, enter the date once: `/domain watch NAME 2027-03-01`, or `/domain import` for many names.',
        ),
      context('To see another period: `/domain expiring 365`.'),
    ],
  );
}

/** `: in 5 days, about €18.00` */
function urgencySuffix(listedName: ListedName, calculateCost: CalculateCost): string {
  const due = buildDueStatus(listedName);
  return due === undefined ? '' : `: ${dueTimeText(due)}${priceText(due, calculateCost(listedName))}`;
}

/** The first line has the deadline and price. Warnings follow. */
export function listedLines(
  listedName: ListedName,
  delayStages: readonly DelayStage[],
  renewals: RenewalDays,
  now: Date,
): string[] {
  const { name, lapse, snooze, unpublishedRenewal, deletedAt, doubt, lastLookupAt, expiry } =
    listedName.domain;
  const due = buildDueStatus(listedName);
  const answer = getOwnerAnswer(listedName.domain, getExpiry(listedName.domain));
  const deadlineTexts =
    due === undefined
      ? [listedName.deadline === undefined ? 'expiry unknown' : deletedText(listedName.deadline)]
      : [
          // Without a last safe day, the deletion time is an estimate.
          deletedAt === undefined || (due.phase === 'redemption' && due.lastSafeDay === undefined)
            ? dueTimeText(due)
            : `deleted ${formatUtcDate(deletedAt, now)}`,
          deadlineText(due, delayStages, renewals.get(name)),
        ];
  return dropMissing([
    dropMissing([
      formatName(name),
      ...deadlineTexts,
      expiry?.source === 'person' && 'date entered manually',
      snooze !== undefined && snooze.until > now && `snoozed until ${formatUtcDate(snooze.until, now)}`,
      lapse?.confirmed !== undefined && `set to lapse: “${escapeLine(lapse.reason)}”`,
      unpublishedRenewal !== undefined && 'renewed, but the registry doesn’t show it yet',
      lastLookupAt === undefined && 'not looked up yet',
      answer?.code !== 'unasked' && ownerWithAnswerText(answer),
      doubt !== undefined && isDateless(listedName.domain) && DATELESS_STATE,
    ]).join(' · '),
    due?.isDeletionAssumed && ':warning: It should have renewed automatically. Check the domain service',
    expiry?.source === 'order' && ':warning: The date is estimated from the last order',
    doubt !== undefined &&
      !isDateless(listedName.domain) &&
      `:warning: ${escapeLine(formatUnreliableDateReason(doubt))}`,
    lapse !== undefined &&
      lapse.confirmed === undefined &&
      `:warning: ${mention(lapse.requestedBy)} wants to let it lapse: “${escapeLine(lapse.reason)}”. Not confirmed yet`,
  ]);
}

function deletedText({ action, until }: Deadline): string {
  if (action !== 'restore') return 'deleted, can’t be recovered';
  return `deleted, restore ${until === undefined ? 'now' : `by ${formatDay(until)}`}`;
}

/** The number of names without menus that fit in a message. */
export const MAX_LISTED_NAMES = 100;
