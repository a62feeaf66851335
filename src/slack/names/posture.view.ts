import { dropMissing } from '../../lib/collections.ts';
import {
  type Finding,
  type FindingCode,
  type FindingLevel,
  getLevel,
  type Judgement,
  type NameJudgement,
  type Part,
  type PostureSummary,
  type UnseenPart,
} from '../../names/posture.ts';
import { displayName } from '../../zones/names.ts';
import {
  code,
  context,
  count,
  escapeText,
  lines,
  type Message,
  message,
  moment,
  section,
  textMessage,
} from '../kit/blocks.ts';
import { type Page, pageControls } from '../kit/pages.ts';
import { formatList } from './facts.view.ts';

/* Findings about names, and what to do about them. */

interface FindingText {
  readonly label: string;
  readonly what: string;
  /** An instruction. */
  readonly todo: string;
}

const FINDING_TEXTS: Readonly<Record<FindingCode, FindingText>> = {
  expired: { label: 'Expiry', what: 'expired or deleted', todo: 'renew or restore it today' },
  all_lame: {
    label: 'Delegation',
    what: 'no nameserver answers for it',
    todo: 'set up its zone at the nameservers, or change them',
  },
  nameserver_registrable: {
    label: 'Delegation',
    what: 'a nameserver’s domain can be registered by anyone',
    todo: 'remove that nameserver now',
  },
  dnssec_broken: {
    label: 'DNSSEC',
    what: 'DNSSEC is broken, because no key matches the DS record',
    todo: 'correct or remove the DS record at the registrar',
  },
  certificate_expired: {
    label: 'Certificate',
    what: 'the certificate has expired',
    todo: 'install a new one',
  },
  incident: {
    label: 'Incident',
    what: 'unexplained change',
    todo: 'confirm that it was us, or raise the alarm',
  },
  expires_soon: { label: 'Expiry', what: 'expires within 30 days', todo: 'renew it or let it lapse' },
  undated: {
    label: 'Expiry',
    what: 'no expiry date, so no reminders',
    todo: 'enter the date with `/domain watch`',
  },
  unlocked: { label: 'Lock', what: 'no transfer lock', todo: 'turn it on at the registrar' },
  lame: {
    label: 'Delegation',
    what: 'a nameserver doesn’t answer for it',
    todo: 'set up its zone there, or remove that nameserver',
  },
  nameserver_expiring: {
    label: 'Delegation',
    what: 'a nameserver’s domain expires within 30 days',
    todo: 'get it renewed, or change the nameserver',
  },
  dnssec_expiring: {
    label: 'DNSSEC',
    what: 'a DNSSEC signature expires within 3 days',
    todo: 'ask the DNS provider to sign the zone again',
  },
  certificate_expiring: { label: 'Certificate', what: 'the certificate expires soon', todo: 'renew it' },
  certificate_mismatch: {
    label: 'Certificate',
    what: 'the certificate is for another name',
    todo: 'install one for this name',
  },
  no_owner: { label: 'Owner', what: 'no owner', todo: 'set one with `/domain name`' },
  unsigned: { label: 'DNSSEC', what: 'DNSSEC is off', todo: 'turn it on at the DNS provider' },
  no_caa: { label: 'CAA', what: 'no CAA record', todo: 'list the allowed CAs in one' },
  no_spf: { label: 'SPF', what: 'no SPF record', todo: 'list the mail senders in one' },
  no_dmarc: { label: 'DMARC', what: 'no DMARC record', todo: 'add one' },
};

const ICONS: Readonly<Record<FindingLevel, string>> = { danger: ':x:', warning: ':warning:', note: '•' };

const PARTS: Readonly<Record<Part, string>> = {
  registry: 'registry locks',
  delegation: 'delegation',
  dnssec: 'DNSSEC',
  dns: 'DNS records',
  certificate: 'certificate',
};

export function findingLabel(code: FindingCode): string {
  return FINDING_TEXTS[code].label;
}

/**
 * `:warning: no transfer lock`
 * @param label before the text, with a space
 */
export function findingText(
  { code: finding, about = [] }: Pick<Finding, 'code' | 'about'>,
  label = '',
): string {
  const hosts = about.length === 0 ? '' : `: ${formatList(about)}`;
  return `${ICONS[getLevel(finding)]} ${label}${FINDING_TEXTS[finding].what}${hosts}`;
}

/** Already in the first lines of a name's page. */
const IN_HEADLINE: readonly FindingCode[] = ['expired', 'expires_soon', 'undated', 'incident'];

/** For the page of a name, which shows notes elsewhere. Missing data never counts as healthy. */
export function findingLines({ findings, unseen }: Judgement): string[] {
  const shown = findings.filter(
    ({ code: finding }) => getLevel(finding) !== 'note' && !IN_HEADLINE.includes(finding),
  );
  return [
    ...shown.map((finding) => {
      const { label, todo } = FINDING_TEXTS[finding.code];
      return `${findingText(finding, `*${label}* `)} · ${todo}`;
    }),
    ...unseen.filter(({ part }) => part === 'delegation').map(uncheckedDelegationText),
  ];
}

function uncheckedDelegationText({ since, about = [] }: UnseenPart): string {
  const when = since === 0 ? 'yet' : `since ${moment(new Date(since))}`;
  const silent = about.length === 0 ? '' : `. No response from ${formatList(about)}`;
  return `:grey_question: *Delegation* hasn’t been fully checked ${when}${silent}`;
}

export const NAMES_PER_PAGE = 20;

export interface PostureList {
  readonly filter: string;
  readonly withNotes: boolean;
  readonly counts: PostureSummary['counts'];
  /** Worst first. */
  readonly page: Page<NameJudgement>;
}

export function postureMessage({ filter, withNotes, counts, page }: PostureList): Message {
  const which = filter === '' ? '' : ` for ${code(filter)}`;
  const { fine } = counts;
  const total = fine + counts.danger + counts.warning + counts.unchecked;
  if (total === 0)
    return textMessage(
      filter === '' ? NONE_WATCHED : `No names found${which}. \`/domain posture\` shows all.`,
    );
  const title = `${fine} of ${count(total, 'name')}${which} ${fine === 1 ? 'is' : 'are'} fine`;
  const others = othersText(counts);
  return message(dropMissing([title, others !== '' && others]).join(': '), [
    section(`*${title}*`, others !== '' && others),
    ...lines(page.shown.map((each) => postureLine(each, withNotes))),
    ...pageControls('posture', page, NAMES_PER_PAGE, withNotes ? `all ${filter}` : filter),
    context(
      withNotes
        ? 'For details of a name, use `/domain name cafe.rest`.'
        : 'To include notes, use `/domain posture all`.',
    ),
  ]);
}

const NONE_WATCHED = 'No names are watched yet. Add names with `/domain import`.';

/** `1 in danger, 2 with warnings, 3 not fully checked`. */
function othersText({ danger, warning, unchecked }: PostureSummary['counts']): string {
  return dropMissing([
    danger > 0 && `${danger} in danger`,
    warning > 0 && `${warning} with warnings`,
    unchecked > 0 && `${unchecked} not fully checked`,
  ]).join(', ');
}

/** Shows the worst finding with what to do, and the other findings without. */
function postureLine({ name, findings, unseen }: NameJudgement, withNotes: boolean): string {
  const [worst, ...others] = findings.filter((each) => withNotes || getLevel(each.code) !== 'note');
  const parts = unseen.map(({ part }) => PARTS[part]).join(', ');
  const title = `*${escapeText(displayName(name))}*`;
  const level = worst && getLevel(worst.code);
  const icon = level === undefined || (level === 'note' && parts !== '') ? ':grey_question:' : ICONS[level];
  return dropMissing([
    `${icon} ${title}`,
    worst && `${FINDING_TEXTS[worst.code].what}: ${FINDING_TEXTS[worst.code].todo}`,
    others.length > 0 && `also ${others.map((each) => FINDING_TEXTS[each.code].what).join(', ')}`,
    parts !== '' && `not checked: ${parts}`,
  ]).join(' · ');
}

/** For the Home tab; undefined if no name is watched. */
export function postureCount(counts: PostureSummary['counts']): string | undefined {
  const others = othersText(counts);
  if (others === '' && counts.fine === 0) return undefined;
  return `*Posture*: ${dropMissing([`${counts.fine} fine`, others !== '' && others]).join(', ')}. \`/domain posture\``;
}
