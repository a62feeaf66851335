import { dropMissing } from '../../lib/collections.ts';
import {
  type Assessment,
  type Finding,
  type FindingCode,
  type FindingLevel,
  getLevel,
  type LookupPart,
  type NameAssessment,
  type PostureSummary,
  type UnseenPart,
} from '../../names/posture.ts';
import { formatDomainName } from '../../zones/names.ts';
import {
  capitalize,
  code,
  context,
  escapeText,
  formatCount,
  formatLocalTime,
  lineSections,
  type Message,
  message,
  section,
  textMessage,
} from '../kit/blocks.ts';
import { buildPageControls, type Page } from '../kit/pages.ts';
import { formatList } from './facts.view.ts';
import { NO_NAMES } from './portfolio.view.ts';

interface FindingText {
  readonly label: string;
  readonly problem: string;
  readonly advice: string;
}

const FINDING_TEXTS: Readonly<Record<FindingCode, FindingText>> = {
  expired: { label: 'Expiry', problem: 'expired or deleted', advice: 'renew or restore it today' },
  all_lame: {
    label: 'Delegation',
    problem: 'no nameserver answers for it',
    advice: 'set up its zone at the nameservers, or change them',
  },
  nameserver_registrable: {
    label: 'Delegation',
    problem: 'a nameserver’s domain can be registered by anyone',
    advice: 'remove that nameserver now',
  },
  dnssec_broken: {
    label: 'DNSSEC',
    problem: 'DNSSEC is broken, because no key matches the DS record',
    advice: 'correct or remove the DS record at the registrar',
  },
  certificate_expired: {
    label: 'Certificate',
    problem: 'the certificate has expired',
    advice: 'install a new one',
  },
  incident: {
    label: 'Incident',
    problem: 'unexplained change',
    advice: 'confirm that it was us, or raise the alarm',
  },
  expires_soon: { label: 'Expiry', problem: 'expires within 30 days', advice: 'renew it or let it lapse' },
  undated: {
    label: 'Expiry',
    problem: 'no expiry date, so no reminders',
    advice: 'enter the date with `/domain watch`',
  },
  unlocked: { label: 'Transfer lock', problem: 'no transfer lock', advice: 'turn it on at the registrar' },
  lame: {
    label: 'Delegation',
    problem: 'a nameserver doesn’t answer for it',
    advice: 'set up its zone there, or remove that nameserver',
  },
  nameserver_expiring: {
    label: 'Delegation',
    problem: 'a nameserver’s domain expires within 30 days',
    advice: 'get it renewed, or change the nameserver',
  },
  dnssec_expiring: {
    label: 'DNSSEC',
    problem: 'a DNSSEC signature expires within 3 days',
    advice: 'ask the DNS provider to sign the zone again',
  },
  certificate_expiring: { label: 'Certificate', problem: 'the certificate expires soon', advice: 'renew it' },
  certificate_mismatch: {
    label: 'Certificate',
    problem: 'the certificate is for another name',
    advice: 'install one for this name',
  },
  no_owner: { label: 'Owner', problem: 'no owner', advice: 'assign one' },
  unsigned: { label: 'DNSSEC', problem: 'DNSSEC is off', advice: 'turn it on at the DNS provider' },
  no_caa: { label: 'CAA', problem: 'no CAA record', advice: 'list the allowed CAs in one' },
  no_spf: { label: 'SPF', problem: 'no SPF record', advice: 'list the mail senders in one' },
  no_dmarc: { label: 'DMARC', problem: 'no DMARC record', advice: 'add one' },
};

const ICONS: Readonly<Record<FindingLevel, string>> = { danger: ':x:', warning: ':warning:', note: '•' };

const PART_LABELS: Readonly<Record<LookupPart, string>> = {
  registry: 'registry locks',
  delegation: 'delegation',
  dnssec: 'DNSSEC',
  dns: 'DNS records',
  certificate: 'certificate',
};

export function findingLabel(code: FindingCode): string {
  return FINDING_TEXTS[code].label;
}

/** `:warning: no transfer lock` */
export function findingText({ code: finding, about }: Pick<Finding, 'code' | 'about'>): string {
  return `${ICONS[getLevel(finding)]} ${FINDING_TEXTS[finding].problem}${hostsText(about)}`;
}

function hostsText(hosts: readonly string[] = []): string {
  return hosts.length === 0 ? '' : `: ${formatList(hosts)}`;
}

/** The first lines of a name's page already show these findings. */
const HEADLINE_FINDINGS: readonly FindingCode[] = ['expired', 'expires_soon', 'undated', 'incident'];

/** Omits notes, which the page shows elsewhere. Includes an unchecked delegation, which may be broken. */
export function findingLines({ findings, unseen }: Assessment): string[] {
  const shownFindings = findings.filter(
    ({ code: finding }) => getLevel(finding) !== 'note' && !HEADLINE_FINDINGS.includes(finding),
  );
  return [
    ...shownFindings.map(({ code: finding, about }) => {
      const { problem, advice } = FINDING_TEXTS[finding];
      return `${ICONS[getLevel(finding)]} *${capitalize(problem)}*${hostsText(about)} · ${advice}`;
    }),
    ...unseen.filter(({ part }) => part === 'delegation').map(uncheckedDelegationText),
  ];
}

function uncheckedDelegationText({ since, about = [] }: UnseenPart): string {
  const sinceText = since === 0 ? 'yet' : `since ${formatLocalTime(new Date(since))}`;
  const noResponseText = about.length === 0 ? '' : `. No response from ${formatList(about)}`;
  return `:grey_question: *Delegation* hasn’t been fully checked ${sinceText}${noResponseText}`;
}

export const NAMES_PER_PAGE = 20;

export interface PostureList {
  readonly filter: string;
  readonly includesNotes: boolean;
  readonly counts: PostureSummary['counts'];
  /** Worst first. */
  readonly page: Page<NameAssessment>;
}

export function postureMessage({ filter, includesNotes, counts, page }: PostureList): Message {
  const filterText = filter === '' ? '' : ` matching ${code(filter)}`;
  const { fine } = counts;
  const total = fine + counts.danger + counts.warning + counts.unchecked;
  if (total === 0)
    return textMessage(
      filter === ''
        ? NO_NAMES.watched
        : `No names match ${code(filter)}. To see all names, use \`/domain posture all\`.`,
    );
  const title = `${fine} of ${formatCount(total, 'name')}${filterText} ${fine === 1 ? 'is' : 'are'} fine`;
  const problemCounts = problemCountsText(counts);
  return message(dropMissing([title, problemCounts !== '' && problemCounts]).join(': '), [
    section(`*${title}*`, problemCounts !== '' && problemCounts),
    ...lineSections(page.items.map((assessment) => postureLine(assessment, includesNotes))),
    ...buildPageControls('posture', page, NAMES_PER_PAGE, includesNotes ? `all ${filter}` : filter),
    context(
      includesNotes
        ? 'For details of a name, use `/domain name cafe.rest`.'
        : 'To include notes, use `/domain posture all`.',
    ),
  ]);
}

/** `1 at risk, 2 with warnings, 3 not fully checked`. */
function problemCountsText({ danger, warning, unchecked }: PostureSummary['counts']): string {
  return dropMissing([
    danger > 0 && `${danger} at risk`,
    warning > 0 && `${warning} with warnings`,
    unchecked > 0 && `${unchecked} not fully checked`,
  ]).join(', ');
}

/** Gives advice only for the worst finding. */
function postureLine({ name, findings, unseen }: NameAssessment, includesNotes: boolean): string {
  const [worstFinding, ...otherFindings] = findings.filter(
    (finding) => includesNotes || getLevel(finding.code) !== 'note',
  );
  const uncheckedParts = unseen.map(({ part }) => PART_LABELS[part]).join(', ');
  const title = `*${escapeText(formatDomainName(name))}*`;
  const level = worstFinding && getLevel(worstFinding.code);
  const icon =
    level === undefined || (level === 'note' && uncheckedParts !== '') ? ':grey_question:' : ICONS[level];
  return dropMissing([
    `${icon} ${title}`,
    worstFinding && `${FINDING_TEXTS[worstFinding.code].problem}: ${FINDING_TEXTS[worstFinding.code].advice}`,
    otherFindings.length > 0 &&
      `also ${otherFindings.map((finding) => FINDING_TEXTS[finding.code].problem).join(', ')}`,
    uncheckedParts !== '' && `not checked: ${uncheckedParts}`,
  ]).join(' · ');
}

/** For the Home tab; undefined if no name is watched. */
export function postureSummaryText(counts: PostureSummary['counts']): string | undefined {
  const problemCounts = problemCountsText(counts);
  if (problemCounts === '' && counts.fine === 0) return undefined;
  return `*Posture*: ${dropMissing([`${counts.fine} fine`, problemCounts !== '' && problemCounts]).join(', ')}. \`/domain posture\``;
}
