import type { Day } from '../../expiry/days.ts';
import { dropMissing } from '../../lib/collections.ts';
import type { ExpirySource } from '../../names/dates.ts';
import type { OrderTask } from '../../orders/order-task.ts';
import { ORDER_TASKS } from '../../orders/tasks.ts';
import {
  computeLifecycle,
  type DeletionPhase,
  isDeletionAssumed,
  type Lifecycle,
} from '../../zones/lifecycle.ts';
import type { ZoneProfile } from '../../zones/zone.ts';
import type { ZoneIssue } from '../../zones/zone-issue.ts';
import { phaseText } from '../expiry/phase.view.ts';
import {
  type AnyBlock,
  code,
  context,
  escapeExceptCode,
  escapeText,
  formatCount,
  formatUtcDate,
  type Message,
  message,
  type SectionField,
  section,
  sectionFields,
  table,
} from '../kit/blocks.ts';
import { formatZoneIssue } from './zone-issue.view.ts';

export interface NameRules {
  readonly name: string;
  readonly issues: readonly ZoneIssue[];
  /** Set if the name is watched and its dates are known. */
  readonly dates: NameDates | undefined;
  readonly transferLock?: TransferLock | undefined;
}

export interface TransferLock {
  readonly until: Date;
  readonly days: number;
  /** What started the lock: `registration` or `owner change`. */
  readonly since: string;
}

export interface NameDates {
  readonly expiresAt: Date;
  readonly source: ExpirySource;
  readonly expiryDay: Day;
  readonly deletedAt: Date | undefined;
  readonly deletionPhase?: DeletionPhase | undefined;
}

const SOURCE_TEXTS: Readonly<Record<ExpirySource, string>> = {
  rdap: 'from the registry',
  whois: 'from WHOIS',
  order: 'estimated from the last order',
  person: 'entered manually',
};

function taskLabel({ words: { verb, title } }: OrderTask): string {
  return verb.includes(' ') ? title : verb;
}

const DOMAIN_TASKS = Object.values(ORDER_TASKS).flatMap((task) =>
  task.zoneTask === undefined ? [] : [{ label: taskLabel(task), ...task.zoneTask }],
);

/** Tasks that zone profiles list, keyed by their name in the profiles. */
const LISTED_TASKS: ReadonlyMap<string, { readonly label: string; readonly isChargeable: boolean }> = new Map(
  DOMAIN_TASKS.flatMap(({ profileKey, label, isAlwaysChargeable }) =>
    profileKey === undefined
      ? []
      : [[profileKey, { label: `${label} (${profileKey})`, isChargeable: isAlwaysChargeable ?? false }]],
  ),
);

/** Tasks that no zone profile lists. The service doesn't document whether they cost money. */
const UNLISTED_TASK_LABELS: readonly string[] = DOMAIN_TASKS.flatMap(({ profileKey, label }) =>
  profileKey === undefined ? [label] : [],
);

const NO_DOCUMENTED_REQUEST = 'the documentation doesn’t show how to request it';

/** The rules of a zone and, if a name is given, the dates of the name. */
export function rulesMessage(
  zone: ZoneProfile,
  zoneName: string,
  nameRules: NameRules | undefined,
  clock: { readonly now: Date; readonly timeZone: string },
): Message {
  const title = `Rules for .${zoneName}`;
  return message(escapeText(nameRules === undefined ? title : `${nameRules.name}: ${title}`), [
    ...(nameRules === undefined ? [] : nameBlocks(zone, nameRules, clock)),
    section(
      `*${escapeText(title)}*${zone.isDocumented ? '' : '\nNo rules are documented for this zone. I check DNS rules only, and the service may still refuse an order.'}`,
    ),
    ...sectionFields(zoneFields(zone)),
    taskTable(zone, zoneName),
    ...lifecycleBlocks(zone),
    ...registryBlocks(zone),
    zone.errorCodes.length > 0 &&
      section(
        `*Error codes*\nThe documentation lists these for .${escapeText(zoneName)} without explaining them: ${zone.errorCodes.map(code).join(' ')}`,
      ),
    context(UNDOCUMENTED_TASKS_NOTE),
  ]);
}

export const UNDOCUMENTED_TASKS_NOTE =
  'I can’t do single sign-on, contact management, or tasks such as updateStatus, preack, restoreNE, restoreARGP and restoreRenew. The service’s documentation doesn’t show how to request them.';

export function zonesMessage(zones: readonly ZoneProfile[]): Message {
  const list = zones.map(({ zone }) => `• .${zone}: \`/domain rules ${zone}\``).join('\n');
  return message('Zones with rules', [
    section(
      `*Zones with rules*\n${list}\nFor the dates of one name, use \`/domain rules cafe.rest\`. For any other zone, use \`/domain rules ZONE\`.`,
    ),
  ]);
}

function nameBlocks(
  zone: ZoneProfile,
  { name, issues, dates, transferLock }: NameRules,
  { now, timeZone }: { readonly now: Date; readonly timeZone: string },
): AnyBlock[] {
  if (issues.length > 0) {
    return [
      section(
        [
          `*${escapeText(name)}*`,
          ...issues.map((issue) => `• ${escapeExceptCode(formatZoneIssue(issue))}`),
        ].join('\n'),
      ),
    ];
  }
  const lockBlocks =
    transferLock === undefined || transferLock.until <= now
      ? []
      : [
          section(
            `Transfers are locked until *${formatUtcDate(transferLock.until)}*, ${formatCount(transferLock.days, 'day')} after the ${transferLock.since}.`,
          ),
        ];
  if (dates === undefined) {
    return [
      section(
        `*${escapeText(name)}* is a valid name. To see its dates, add it with \`/domain watch ${escapeText(name.split(' ')[0] ?? '')}\`.`,
      ),
      ...lockBlocks,
    ];
  }
  const lifecycle = computeLifecycle(zone, dates, now, timeZone);
  const isAssumed = isDeletionAssumed(lifecycle);
  const expiry = `Expiry date: ${formatUtcDate(new Date(dates.expiryDay))} (${SOURCE_TEXTS[dates.source]}).`;
  return [
    section(
      `*${escapeText(name)}*`,
      phaseText(lifecycle.current.phase, isAssumed),
      ...(isAssumed ? ['To be safe, the dates below assume it was deleted.'] : []),
      expiry,
      ...deadlineLines(lifecycle),
    ),
    ...lockBlocks,
  ];
}

function deadlineLines(lifecycle: Lifecycle): string[] {
  const remainingStages = lifecycle.stages.slice(lifecycle.stages.indexOf(lifecycle.current));
  const assumedSuffix = lifecycle.isDeletionKnown ? '' : ' (assumed)';
  return remainingStages.flatMap(({ phase, from, lastSafeDay }) => {
    const lastDay = lastSafeDay === undefined ? undefined : formatUtcDate(new Date(lastSafeDay));
    switch (phase) {
      case 'auto_renew_grace':
        return lastDay === undefined
          ? []
          : dropMissing([
              `Renew by ${lastDay}, the last day of its grace period. It renews automatically unless it’s deleted.`,
              !lifecycle.isDeletionKnown && 'To be safe, the dates below assume it’s deleted on that day.',
            ]);
      case 'redemption':
        return lastDay === undefined ? [] : [`Restore by ${lastDay}${assumedSuffix}.`];
      case 'released':
        return from === undefined || phase === lifecycle.current.phase
          ? []
          : [`Available to anyone from ${formatUtcDate(from)}${assumedSuffix}.`];
      default:
        return [];
    }
  });
}

function zoneFields(zone: ZoneProfile): SectionField[] {
  const { names, periodYears, nameServers, transfer } = zone;
  const authCodeText = `needs the auth code${transfer.authCodeFormat === undefined ? '' : ` (${transfer.authCodeFormat})`}`;
  return [
    ['Name', `${names.labelLength.min} to ${names.labelLength.max} characters`],
    [
      'Characters',
      names.idn === 'any'
        ? 'a–z, 0–9, hyphens, and other letters as Punycode (xn--)'
        : `a–z, 0–9, hyphens, and the letters in ${names.idn.replaceAll('_', '-')}`,
    ],
    [
      'Period',
      periodYears.max === undefined
        ? `${periodYears.min} or more`
        : `${periodYears.min} to ${periodYears.max} years (unit not documented)`,
    ],
    ['Nameservers', nameServers.max === undefined ? 'hostnames' : `${nameServers.min} to ${nameServers.max}`],
    optionalField('Transfer', [
      transfer.isAuthCodeRequired ? authCodeText : undefined,
      transfer.autoApproveDays && `completes within ${formatCount(transfer.autoApproveDays, 'day')}`,
      transfer.includesRenewal === true ? 'also renews the name' : undefined,
    ]),
    optionalField('Transfer lock', [
      transfer.lockDays &&
        `for ${formatCount(transfer.lockDays, 'day')} after a registration or owner change; no other lock is documented`,
    ]),
    optionalField('Required contact fields', [zone.requiredContactFields.map(contactFieldText).join(', ')]),
    optionalField('Premium names', [zone.premiumNamesNote]),
  ];
}

const CONTACT_LABELS: Readonly<Record<string, string>> = {
  ownerc: 'owner',
  adminc: 'admin',
  techc: 'tech',
};

/** Describes a contact field such as `ownerc/email` in words. */
function contactFieldText(path: string): string {
  const [contact = '', field = ''] = path.split('/');
  return `${CONTACT_LABELS[contact] ?? contact} ${field}`;
}

function optionalField(label: string, parts: readonly (string | number | undefined)[]): SectionField {
  const texts = parts.filter((part) => typeof part === 'string' && part !== '');
  return [label, texts.length === 0 ? undefined : escapeText(texts.join(', '))];
}

function taskTable(zone: ZoneProfile, zoneName: string): AnyBlock {
  const documentedTasks = Object.entries(zone.tasks ?? {});
  const rows =
    documentedTasks.length === 0
      ? [...LISTED_TASKS.values()].map(({ label, isChargeable }) => [
          label,
          isChargeable ? 'probably, as in .rest' : 'not documented',
          'unknown',
          '',
        ])
      : documentedTasks
          .filter(([, profile]) => profile.isAvailable)
          .map(([task, profile]) => [
            LISTED_TASKS.get(task)?.label ?? task,
            profile.isChargeable ? 'yes' : 'no',
            profile.processing === 'manual' ? 'manual' : 'automatic',
            [profile.note, LISTED_TASKS.has(task) ? undefined : NO_DOCUMENTED_REQUEST]
              .filter(Boolean)
              .join('; '),
          ]);
  return table({
    caption: `Tasks for .${zoneName}`,
    columns: ['Task', 'Paid', 'Processing', 'Note'],
    rows: [...rows, ...UNLISTED_TASK_LABELS.map((task) => [task, 'not documented', 'not documented', ''])],
    pageSize: 20,
  });
}

function lifecycleBlocks(zone: ZoneProfile): AnyBlock[] {
  const { lifecycle } = zone;
  if (lifecycle === undefined) return [];
  return [
    section(
      '*After expiry*',
      lifecycle.autoRenews
        ? `• A name renews automatically (standard auto-renew). A ${lifecycle.autoRenewGraceDays}-day grace period follows, which ends early if the name is deleted.`
        : `• A ${lifecycle.autoRenewGraceDays}-day grace period follows.`,
      `• After a deletion, it can be restored for ${formatCount(lifecycle.redemptionDays, 'day')}.`,
      `• Then it’s pending deletion for ${formatCount(lifecycle.pendingDeleteDays, 'day')} and can’t be restored. After that, anyone can register it.`,
    ),
  ];
}

function registryBlocks(zone: ZoneProfile): AnyBlock[] {
  const { registry } = zone;
  if (registry === undefined) return [];
  const features = [
    registry.supportsDnssec ? 'DNSSEC' : undefined,
    registry.supportsIpv6 ? 'IPv6' : undefined,
    registry.supportsWhoisPrivacy ? 'WHOIS privacy' : undefined,
    registry.supportsHandleUpdates ? 'contact handle updates' : undefined,
  ].filter((feature) => feature !== undefined);
  return [
    section(
      '*Registry*',
      `• Registration: ${escapeText(registry.registration)}. Eligibility: ${escapeText(registry.eligibility)}.`,
      `• The registry supports ${features.join(', ')}; the documentation doesn’t show how to request these. Zone-specific extensions: ${escapeText(registry.extensions)}.`,
      `• Data set: ${escapeText(registry.dataSet)}. WHOIS updates: ${escapeText(registry.whoisUpdate)}. Connection to the registry: ${escapeText(registry.connection)}.`,
    ),
  ];
}

export const RULES_USAGE = 'Enter one name or one zone, such as `/domain rules cafe.rest`.';
