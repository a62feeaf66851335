import { getRenewalOptions } from '../../expiry/deadline.ts';
import type { ListedName } from '../../expiry/expiry.ts';
import { dropMissing, groupBy } from '../../lib/collections.ts';
import type { CoveringMandate } from '../../mandates/overview.ts';
import type { DelayStage } from '../../money/waiting.ts';
import { isDateless, type LastWhoisAnswer } from '../../names/dates.ts';
import {
  EARLIEST_TIME_MARK,
  FACT_NAMES,
  type FactName,
  type FactValue,
  type UnknownReason,
} from '../../names/facts.ts';
import { NULL_MX, WEB_FACTS } from '../../names/impact.ts';
import { type ListedIncident, rulesOutRenewal } from '../../names/incident.ts';
import type { KnownName } from '../../names/names.ts';
import { getExpiry, getOwnerAnswer, type NameDetails } from '../../names/portfolio.ts';
import { type Assessment, listRegistryLocks } from '../../names/posture.ts';
import { listPastChanges, type PastChange, UNLISTED_FACTS } from '../../names/timeline.ts';
import { isIncidentOrderId, ZONE_REQUEST_ID } from '../../names/unexplained-changes.ts';
import { isOpen, type Order } from '../../orders/order.ts';
import type { LifecyclePhase } from '../../zones/lifecycle.ts';
import { formatDomainName } from '../../zones/names.ts';
import type { Capability } from '../capability.ts';
import { datelessSentences } from '../expiry/dateless.view.ts';
import { buildDueStatus, priceText } from '../expiry/due.view.ts';
import { formatDay, formatDaysLeft } from '../expiry/expiry.view.ts';
import { phaseText } from '../expiry/phase.view.ts';
import {
  type AnyBlock,
  actions,
  button,
  capitalize,
  code,
  context,
  escapeLine,
  escapeText,
  formatLocalTime,
  formatUtcDate,
  header,
  joinWords,
  lineSections,
  type Message,
  message,
  type SectionField,
  section,
} from '../kit/blocks.ts';
import { coverageText } from '../mandates/mandate.view.ts';
import { formatDeadlines } from '../money/price.view.ts';
import { orderLine } from '../orders/order.view.ts';
import { FACT_LABELS, formatChange, formatList, formatValue, UNKNOWN_REASON_TEXTS } from './facts.view.ts';
import { findWorstKind, firstIncidentBlocks, INCIDENT_SENTENCES, incidentButtons } from './incident.view.ts';
import { ownerAnswerText } from './owner.view.ts';
import { detailPairs, editButton } from './portfolio.view.ts';
import { findingLines } from './posture.view.ts';

export interface NamePage extends Capability {
  readonly name: string;
  readonly listedName: ListedName | undefined;
  readonly knownName: KnownName;
  /** Fields that people set; undefined if the name isn't watched. */
  readonly details?: NameDetails | undefined;
  readonly mandate?: CoveringMandate | undefined;
  /** Latest first. */
  readonly orders: readonly Order[];
  /** Orders that explain changes and are visible to the reader. */
  readonly visibleOrderIds: ReadonlySet<string>;
  /** Unexpected changes, latest first. */
  readonly incidents: readonly ListedIncident[];
  readonly pendingChangeBlocks: readonly AnyBlock[];
  readonly assessment: Assessment;
  /** The page offers to renew names that expire within this many days. */
  readonly renewWithinDays: number;
  readonly delayStages: readonly DelayStage[];
  /** The current day in the team's time zone. Dates close to it are shown without a year. */
  readonly today: string;
}

/** These limits keep the page short enough for a phone screen. */
const MAX_HISTORY_LINES = 5;
const MAX_OPEN_ORDERS = 3;
const MAX_OPEN_INCIDENTS = 4;
/** The page says which of these facts are missing. */
const EXPECTED_FACTS: readonly FactName[] = [
  'registrar',
  'statuses',
  'nameservers',
  'mx',
  ...WEB_FACTS,
  'caa',
  'ds',
];

export function nameMessage(page: NamePage): Message {
  const { name, knownName, orders, visibleOrderIds } = page;
  const title = formatDomainName(name);
  const openOrders = orders.filter(({ state }) => isOpen(state));
  return message(lockScreenText(page), [
    header(title),
    section(headline(page), page.delayStages.length > 0 && formatDeadlines(page.delayStages, page.today)),
    page.listedName !== undefined && page.mandate !== undefined && section(coverageText(page.mandate)),
    ...lineSections([
      ...[
        ...detailPairs(page.details).map(
          ([label, value]): SectionField =>
            label === 'Owner' ? [label, value && `${value}${ownerAnswerSuffix(page)}`] : [label, value],
        ),
        ...registryPairs(knownName, page.listedName?.domain.whois),
        ...webAndMailPairs(knownName),
      ].map(([label, value]) => value !== undefined && `*${label}* ${value}`),
      ...findingLines(page.assessment),
      ...unseenLines(knownName, page.listedName?.domain.whois),
      ...unconfirmedChangeLines(knownName),
    ]),
    ...(openOrders.length === 0
      ? []
      : lineSections([
          '*Open orders*',
          ...openOrders.slice(0, MAX_OPEN_ORDERS).map((order) => `• ${orderLine(order)}`),
          openOrders.length > MAX_OPEN_ORDERS && `More: \`/domain orders ${name}\``,
        ])),
    ...historyBlocks(knownName, orders, visibleOrderIds),
    ...firstIncidentBlocks(
      page.incidents,
      MAX_OPEN_INCIDENTS,
      (incident) => incidentButtons(incident, 'name_incident'),
      name,
    ),
    ...page.pendingChangeBlocks,
    ...actions(`name_${name}`.slice(0, 255), nameButtons(page)),
    context(footer(page)),
  ]);
}

/** ` (answer: keep)`, if the owner was asked or has left. */
function ownerAnswerSuffix({ listedName }: NamePage): string {
  const answer = listedName && getOwnerAnswer(listedName.domain, getExpiry(listedName.domain));
  if (answer === undefined || answer.code === 'unasked') return '';
  return ` (${ownerAnswerText(answer)})`;
}

/** `cafe.rest, about €18.00: expires 18 Dec 2026 (in 23 days)` */
function lockScreenText(page: NamePage): string {
  const due = page.listedName && buildDueStatus(page.listedName);
  const price = due === undefined ? '' : priceText(due, page.delayStages);
  const [firstLine = ''] = headline(page).split('\n');
  // Removes emoji and markup for screen readers.
  return `${escapeText(formatDomainName(page.name))}${price}: ${firstLine.replace(/^:\w+: |\*/g, '')}`;
}

function headline({ name, listedName, knownName, incidents }: NamePage): string {
  const registration = getCurrentValue(knownName, 'registration');
  const registryExpiry = getCurrentValue(knownName, 'expires_at')?.[0];
  const sentences = incidents.slice(0, MAX_OPEN_INCIDENTS).map(incidentLine);
  if (registration?.length === 0) {
    sentences.push(':grey_question: *The registry has no record of it*, so it may not be registered.');
  }
  if (listedName?.deadline !== undefined && listedName.expiryDay === undefined) {
    const { phase, until } = listedName.deadline;
    const restoreSentence =
      until === undefined ? unknownDeadlineText(phase) : ` It can be restored until ${formatDay(until)}.`;
    sentences.push(`:warning: ${phaseText(phase, false)}${restoreSentence}`);
  } else if (listedName?.expiryDay !== undefined && listedName.daysLeft !== undefined) {
    sentences.push(
      formatRegistrationState(
        listedName,
        listedName.expiryDay,
        listedName.daysLeft,
        incidents.length > 0,
        uncertainDayText(knownName),
      ),
    );
  } else if (registryExpiry !== undefined) {
    sentences.push(
      `:calendar: *Expires ${formatDay(registryExpiry.slice(0, 10))}*, according to the registry${uncertainDayText(knownName)}.`,
    );
  } else if (registration?.length !== 0) {
    sentences.push(
      listedName !== undefined && isDateless(listedName.domain)
        ? `:grey_question: *Expiry unknown*. ${datelessSentences(name, knownName).join(' ')}`
        : `:grey_question: *Expiry unknown*: ${describeMissingDate(knownName)}. If you know the date, enter it: \`/domain watch ${name} 2027-03-01\`.`,
    );
  }
  const { lapse, snooze, unpublishedRenewal } = listedName?.domain ?? {};
  if (lapse?.confirmed !== undefined) sentences.push(`Set to lapse: “${escapeLine(lapse.reason)}”.`);
  else if (lapse !== undefined)
    sentences.push(`A request to let it lapse needs confirmation: “${escapeLine(lapse.reason)}”.`);
  if (snooze !== undefined) sentences.push(`Reminders are snoozed until ${formatLocalTime(snooze.until)}.`);
  if (unpublishedRenewal !== undefined)
    sentences.push('It was renewed, but the registry doesn’t show that yet.');
  return sentences.join('\n');
}

/** Where an expiry date comes from, if not from the registry. */
const SOURCE_SUFFIXES = {
  whois: ', according to WHOIS',
  order: ', estimated from the last order',
  person: ', date entered manually',
} as const;

function incidentLine(incident: ListedIncident): string {
  const { changes, openedAt, channelId } = incident;
  const channelNote = channelId === undefined ? '' : ` See <#${channelId}>.`;
  return `:rotating_light: *${INCIDENT_SENTENCES[findWorstKind(incident)]}* No one here ordered this. First seen ${formatLocalTime(changes[0]?.afterFirstSeenAt ?? openedAt)}.${channelNote}`;
}

/** Says why the date may be one day too early. */
function uncertainDayText(knownName: KnownName): string {
  return getCurrentValue(knownName, 'expires_at')?.includes(EARLIEST_TIME_MARK) === true
    ? ', or a day later: the registry gives no time zone'
    : '';
}

function unknownDeadlineText(phase: LifecyclePhase): string {
  return phase === 'redemption' ? ' The deadline for a restore is unknown. Ask the registrar today.' : '';
}

function formatRegistrationState(
  { domain, deadline }: ListedName,
  day: string,
  daysLeft: number,
  hasIncidents: boolean,
  uncertainDayNote: string,
): string {
  const { source } = domain.expiry ?? {};
  const sourceNote =
    source === undefined ? '' : source === 'rdap' ? uncertainDayNote : SOURCE_SUFFIXES[source];
  const expirySentence = `*${daysLeft < 0 ? 'Expired' : 'Expires'} ${formatDay(day)}* (${formatDaysLeft(daysLeft)})${sourceNote}.`;
  const phaseSentence = deadline && phaseText(deadline.phase, deadline.action === 'check');
  const pastExpirySentence = `Its registration ${daysLeft < 0 ? 'ended' : 'would have ended'} ${formatDay(day)}${sourceNote}.`;
  switch (deadline?.action) {
    case 'none':
      return `:x: ${phaseSentence} ${pastExpirySentence}`;
    case 'check':
    case 'restore': {
      const restoreSentence =
        deadline.until === undefined
          ? unknownDeadlineText(deadline.phase)
          : ` ${deadline.action === 'check' ? 'If it was deleted, it' : 'It'} can be restored until ${formatDay(deadline.until)}.`;
      return `:warning: ${phaseSentence}${restoreSentence} ${pastExpirySentence}`;
    }
  }
  return `${daysLeft <= 30 || hasIncidents ? ':warning: ' : ''}${expirySentence}`;
}

function describeMissingDate(knownName: KnownName): string {
  const text = knownName.history.expires_at?.unseen?.text;
  if (text !== undefined) return `the registry’s record has an unreadable date, “${escapeLine(text, 60)}”`;
  if (getCurrentValue(knownName, 'registration') !== undefined)
    return 'the registry’s record has no expiry date';
  return getUnseenReason(knownName, 'registration') === 'stale'
    ? 'the registry hasn’t answered yet'
    : 'the registry publishes no record, or didn’t answer';
}

function registryPairs(knownName: KnownName, whois: LastWhoisAnswer | undefined): SectionField[] {
  const toPair = (fact: FactName, label = FACT_LABELS[fact]): SectionField => {
    const value = getCurrentValue(knownName, fact);
    return [label, value === undefined || value.length === 0 ? undefined : formatValue(fact, value)];
  };
  return [
    addWhoisFallback(toPair('registrar'), whois?.registrar && escapeLine(whois.registrar)),
    toPair('statuses'),
    ['Registry lock', registryLockText(knownName)],
    ['Nameservers', nameserversText(knownName)],
    ['DNSSEC', dnssecText(knownName)],
    addWhoisFallback(toPair('registered_at'), whois?.registeredAt && formatUtcDate(whois.registeredAt)),
    toPair('deleted_at', 'Deleted'),
  ];
}

/** `blocks transfers, changes and deletion` */
function registryLockText(knownName: KnownName): string | undefined {
  const lockedActions = listRegistryLocks(knownName.history);
  const words = { transfer: 'transfers', update: 'changes', delete: 'deletion' };
  const shownWords = Object.entries(words).flatMap(([action, word]) =>
    lockedActions.includes(action) ? [word] : [],
  );
  return shownWords.length === 0 ? undefined : `blocks ${joinWords(shownWords)}`;
}

/** Uses the WHOIS text if the registry's record has no value. */
function addWhoisFallback([label, text]: SectionField, value: string | undefined): SectionField {
  return [label, text ?? (value && `${value}, from WHOIS`)];
}

/** The delegation's nameservers, and those listed by the registry or the zone if they differ. */
function nameserversText(knownName: KnownName): string | undefined {
  const registryHosts = getCurrentValue(knownName, 'registry_nameservers');
  const zoneHosts = getCurrentValue(knownName, 'nameservers');
  const hosts = getCurrentValue(knownName, 'parent_nameservers') ?? registryHosts ?? zoneHosts;
  if (hosts === undefined) return undefined;
  if (hosts.length === 0) return 'none (not delegated)';
  const listDifference = (source: string, otherHosts: FactValue | undefined) =>
    otherHosts === undefined || otherHosts.length === 0 || otherHosts.join() === hosts.join()
      ? []
      : [`${source} lists ${formatList(otherHosts)}`];
  return [
    formatList(hosts),
    ...listDifference('the registry', registryHosts),
    ...listDifference('its own zone', zoneHosts),
  ].join('; ');
}

function dnssecText(knownName: KnownName): string | undefined {
  const value = getCurrentValue(knownName, 'ds') ?? getCurrentValue(knownName, 'secure_dns');
  return value && (value.length > 0 ? 'signed' : 'off');
}

function webAndMailPairs(knownName: KnownName): SectionField[] {
  const webValues = WEB_FACTS.map((fact) => getCurrentValue(knownName, fact));
  const addresses = [...new Set(webValues.flatMap((value) => value ?? []))];
  const mx = getCurrentValue(knownName, 'mx');
  const caa = getCurrentValue(knownName, 'caa');
  const mailHosts = mx?.filter((text) => text !== NULL_MX);
  const certificate = getCurrentValue(knownName, 'certificate');
  const noWebsiteText = webValues.includes(undefined) ? undefined : 'none found';
  return [
    ['Website', addresses.length > 0 ? formatList(addresses) : noWebsiteText],
    ['Mail', mailHosts && (mailHosts.length > 0 ? formatValue('mx', mailHosts) : 'none (no mail servers)')],
    ['CAA', caa && (caa.length > 0 ? formatValue('caa', caa) : 'none (any CA can issue)')],
    [
      'SPF and DMARC',
      mailHosts === undefined || mailHosts.length === 0 ? undefined : mailProtectionText(knownName),
    ],
    [
      'Certificate',
      certificate === undefined || certificate.length === 0
        ? undefined
        : `expires ${formatValue('certificate', certificate)}`,
    ],
  ];
}

/** SPF and DMARC; undefined if unknown. */
function mailProtectionText(knownName: KnownName): string | undefined {
  const [spf, dmarc] = [getCurrentValue(knownName, 'spf'), getCurrentValue(knownName, 'dmarc')];
  if (spf === undefined || dmarc === undefined) return undefined;
  const parts = [...(spf.length > 0 ? ['SPF'] : []), ...(dmarc.length > 0 ? ['DMARC'] : [])];
  if (parts.length === 0) return 'none';
  return parts.length === 2 ? 'set' : `only ${parts.join()}`;
}

/** Lists missing facts by reason, and says when outdated facts were last seen. */
function unseenLines(knownName: KnownName, whois: LastWhoisAnswer | undefined): string[] {
  const getUnreadableText = (fact: FactName) => knownName.history[fact]?.unseen?.text;
  const shownFacts = FACT_NAMES.filter(
    (fact) => EXPECTED_FACTS.includes(fact) || getUnreadableText(fact) !== undefined,
  );
  const unseenFacts = shownFacts.flatMap((fact) => {
    const reason = getUnseenReason(knownName, fact);
    if (reason === undefined || (fact === 'registrar' && whois?.registrar !== undefined)) return [];
    const lastSeenAt = knownName.history[fact]?.current?.lastSeen;
    const lastSeenNote = lastSeenAt === undefined ? '' : ` (last seen ${formatLocalTime(lastSeenAt)})`;
    const text = getUnreadableText(fact);
    const quotedText = text === undefined ? '' : ` “${escapeLine(text, 60)}”`;
    return [{ reason, label: `*${FACT_LABELS[fact]}*${quotedText}${lastSeenNote}` }];
  });
  return [...groupBy(unseenFacts, ({ reason }) => reason)].map(
    ([reason, facts]) =>
      `:grey_question: ${facts.map(({ label }) => label).join(', ')}: ${UNKNOWN_REASON_TEXTS[reason]}`,
  );
}

/** Changes that only one lookup has seen. The next lookup must confirm them. */
function unconfirmedChangeLines(knownName: KnownName): string[] {
  const changeLines = FACT_NAMES.filter((fact) => !UNLISTED_FACTS.has(fact)).flatMap((fact) => {
    const { current, candidate } = knownName.history[fact] ?? {};
    if (current === undefined || candidate === undefined) return [];
    return [
      `• ${formatLocalTime(candidate.firstSeen)}: ${formatChange(fact, current.value, candidate.value)}`,
    ];
  });
  return changeLines.length === 0 ? [] : [':warning: *Seen once, not confirmed yet*', ...changeLines];
}

/** Changes and orders on one timeline, latest first. */
function historyBlocks(
  knownName: KnownName,
  orders: readonly Order[],
  visibleIds: ReadonlySet<string>,
): AnyBlock[] {
  const changes = listPastChanges(knownName.history, knownName.knownChanges);
  const entries = [
    ...changes.map((change) => ({ at: change.afterFirstSeenAt, line: pastChangeLine(change, visibleIds) })),
    ...orders
      .filter(({ state }) => !isOpen(state))
      .map((order) => ({
        at: order.createdAt,
        line: `${formatLocalTime(order.createdAt)}: ${orderLine(order)}`,
      })),
  ].sort((a, b) => b.at.getTime() - a.at.getTime());
  if (entries.length === 0) {
    return knownName.isFirstLookup ? [] : [context('No changes since I started watching.')];
  }
  const remainingCount = entries.length - MAX_HISTORY_LINES;
  return lineSections([
    '*History*',
    ...entries.slice(0, MAX_HISTORY_LINES).map(({ line }) => `• ${line}`),
    remainingCount > 0 && `… and ${remainingCount} earlier.`,
  ]);
}

function pastChangeLine(
  { fact, before, after, afterFirstSeenAt, cause }: PastChange,
  visibleIds: ReadonlySet<string>,
): string {
  return `${formatLocalTime(afterFirstSeenAt)}: ${formatChange(fact, before, after)}${causeText(cause, visibleIds)}`;
}

function causeText(cause: PastChange['cause'], visibleIds: ReadonlySet<string>): string {
  if (cause === undefined) return '';
  if (cause === 'none') return ' · :warning: not ordered here';
  const { orderId } = cause;
  if (orderId === 'lapse') return ' · set to lapse';
  if (orderId === ZONE_REQUEST_ID) return ' · requested by the zone’s CDS or CDNSKEY records';
  if (isIncidentOrderId(orderId)) return ' · by the expected transfer';
  return visibleIds.has(orderId) ? ` · by order ${code(orderId)}` : ' · by a private order';
}

function nameButtons({ name, listedName, renewWithinDays, incidents, hasService }: NamePage) {
  if (listedName === undefined) return [];
  if (listedName.domain.lapse?.confirmed !== undefined) return [editButton(name)];
  const displayName = formatDomainName(name);
  const { deadline, daysLeft } = listedName;
  const isDueSoon = daysLeft !== undefined && daysLeft <= renewWithinDays;
  const options = deadline && getRenewalOptions(deadline);
  return dropMissing([
    hasService &&
      options?.canRenew &&
      isDueSoon &&
      !incidents.some(rulesOutRenewal) &&
      button('reminder_renew', 'Renew', name, { style: 'primary', label: `Renew ${displayName}` }),
    !hasService &&
      options?.canRenew &&
      isDueSoon &&
      button('reminder_renewed', 'Renewed elsewhere', name, { label: `Renewed elsewhere: ${displayName}` }),
    hasService &&
      options?.canRestore &&
      button('reminder_restore', 'Restore', name, { label: `Restore ${displayName}` }),
    editButton(name),
  ]);
}

/** The times of the lookups, and a command to use next. */
function footer({ name, listedName, knownName }: NamePage): string {
  const dnsTime = findLatestLookupTime(knownName, ['nameservers', 'soa', 'a', 'mx', 'ds']);
  const registryTime = findLatestLookupTime(knownName, ['registration']);
  const lookupTimesText = [
    dnsTime === undefined ? 'not found in DNS' : `DNS checked ${formatLocalTime(dnsTime)}`,
    registryTime === undefined ? 'registry not checked' : `registry checked ${formatLocalTime(registryTime)}`,
  ].join(', ');
  const hint =
    listedName === undefined
      ? `This name isn’t watched. To get reminders, use \`/domain watch ${name}\`.`
      : `Zone rules: \`/domain rules ${name}\`.`;
  return `${capitalize(lookupTimesText)}. ${hint}`;
}

function findLatestLookupTime(knownName: KnownName, facts: readonly FactName[]): Date | undefined {
  const timestamps = facts.flatMap((fact) => knownName.history[fact]?.current?.lastSeen.getTime() ?? []);
  return timestamps.length === 0 ? undefined : new Date(Math.max(...timestamps));
}

function getCurrentValue(knownName: KnownName, fact: FactName): FactValue | undefined {
  return knownName.history[fact]?.current?.value;
}

/** Why the latest lookup has no value for a fact; undefined if it has one. */
function getUnseenReason(knownName: KnownName, fact: FactName): UnknownReason | undefined {
  const entry = knownName.history[fact];
  if (entry === undefined) return knownName.isFirstLookup ? 'timeout' : 'stale';
  return entry.unseen?.reason;
}

export const NAME_USAGE = 'Enter one name, such as `/domain name cafe.rest`.';
