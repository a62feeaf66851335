import { dropMissing } from '../../lib/collections.ts';
import {
  type FactName,
  type FactValue,
  findPart,
  getRegistrarName,
  REGISTRY_DATES,
  type UnknownReason,
} from '../../names/facts.ts';
import { formatDomainName } from '../../zones/names.ts';
import { code, escapeLine, escapeText, formatUtcDate, joinAtMost, truncate } from '../kit/blocks.ts';

export const FACT_LABELS: Readonly<Record<FactName, string>> = {
  registration: 'Registration',
  registrar: 'Registrar',
  statuses: 'Status',
  registry_nameservers: 'Nameservers at the registry',
  secure_dns: 'DNSSEC',
  owner: 'Registrant',
  transport: 'Record source',
  registered_at: 'Registered',
  expires_at: 'Expiry',
  registrar_expires_at: 'Expiry at the registrar',
  updated_at: 'Record updated',
  transferred_at: 'Last transfer',
  deleted_at: 'Deletion',
  parent_nameservers: 'Delegation',
  nameservers: 'Nameservers',
  soa: 'SOA',
  a: 'IPv4 address',
  aaaa: 'IPv6 address',
  www_a: 'IPv4 address of www',
  www_aaaa: 'IPv6 address of www',
  cname: 'CNAME',
  www_cname: 'CNAME of www',
  mx: 'Mail servers',
  caa: 'CAA',
  spf: 'SPF',
  dmarc: 'DMARC',
  ds: 'DS',
  requested_ds: 'DS requested by the zone (CDS)',
  dnskey: 'DNSSEC keys',
  signatures: 'Expiry of DNSSEC signatures',
  certificate: 'Certificate',
  www_certificate: 'Certificate of www',
  lame_nameservers: 'Lame nameservers',
  silent_nameservers: 'Unresponsive nameservers',
  addressless_nameservers: 'Nameservers without an address',
  registrable_domains: 'Nameserver domains available to anyone',
  expiring_domains: 'Nameserver domains expiring soon',
  mismatched_ds: 'Nameservers without a matching DNSSEC key',
};

/** Completes “DNSSEC: …” and “Couldn’t check: DNSSEC (…)”. */
export const UNKNOWN_REASON_TEXTS: Readonly<Record<UnknownReason, string>> = {
  timeout: 'no response in time',
  unreachable: 'the server can’t be reached',
  malformed: 'the response can’t be read',
  too_large: 'the response is too large',
  server_failure: 'the nameservers returned an error',
  refused: 'the server refused the query',
  referral: 'the server only refers to other servers',
  alias_loop: 'its CNAME records form a loop',
  private_address: 'it points to a private address',
  no_servers: 'no DNS resolver is configured',
  invalid_name: 'the name can’t be looked up',
  unexpected_code: 'the server returned an error',
  registry_unavailable: 'the registry returned no readable record',
  not_published: 'not published by the registry',
  unreadable: 'the registry’s record has an unreadable value',
  delegated_without_record: 'the registry has no record of it, but DNS still delegates it',
  stale: 'not checked recently',
  servers_disagree: 'the parent zone’s servers disagree',
  no_parent: 'the parent zone wasn’t found',
  unsigned_answer: 'no current DNSSEC signature',
  no_tls: 'no response over HTTPS',
};

const MAX_HOSTS = 4;
const DATE_FACTS: ReadonlySet<FactName> = new Set([
  ...REGISTRY_DATES,
  'certificate',
  'www_certificate',
  'signatures',
]);

/** Escapes untrusted text. */
export function formatValue(fact: FactName, value: FactValue, formatHosts = formatList): string {
  const [first] = value;
  if (first === undefined) return 'none';
  if (DATE_FACTS.has(fact)) return formatUtcDate(new Date(first));
  switch (fact) {
    case 'registration':
      return 'registered';
    case 'registrar':
      return formatRegistrar(value);
    case 'owner':
      return 'another registrant';
    case 'secure_dns':
      return 'signed';
    case 'statuses':
      return value.map((status) => escapeLine(status, 60)).join(', ');
    case 'mx':
      return formatHosts(value.map((text) => text.slice(text.indexOf(' ') + 1)));
    case 'caa':
      return formatIssuers(value);
    case 'ds':
    case 'dnskey':
      return value.length === 1 ? 'one key' : `${value.length} keys`;
    default:
      return formatHosts(value);
  }
}

/** The first hosts or addresses, and how many more there are. */
export function formatList(hosts: readonly string[]): string {
  return joinAtMost(
    hosts.map((host) => code(formatDomainName(host))),
    MAX_HOSTS,
  );
}

const MAX_SHORT_LENGTH = 24;

/** Fits on one or two lines. */
export function formatShortList(hosts: readonly string[]): string {
  return joinAtMost(
    hosts.map((host) => code(truncate(formatDomainName(host), MAX_SHORT_LENGTH))),
    2,
  );
}

function formatRegistrar(value: FactValue): string {
  const registrar = getRegistrarName(value);
  if (registrar === undefined) return `IANA ID ${escapeText(findPart(value, 'iana') ?? '')}`;
  return escapeLine(registrar, 100);
}

/** Lists the CAs that may issue certificates (RFC 8659). An empty issuer means that no CA may. */
function formatIssuers(value: FactValue): string {
  const records = value.map((text) => /^\S+ (\S+) ?(.*)$/.exec(text) ?? [text, text, '']);
  const formatTagIssuers = (wantedTag: string) => {
    const tagRecords = records.filter(([, tag = '']) => tag.toLowerCase() === wantedTag);
    // Parameters follow the issuer.
    const issuerNames = tagRecords.flatMap(([, , issuer = '']) => issuer.split(';', 1).join().trim() || []);
    return tagRecords.length === 0 ? undefined : issuerNames.length === 0 ? 'no CA' : formatList(issuerNames);
  };
  const [issuersText, wildcardIssuersText] = [formatTagIssuers('issue'), formatTagIssuers('issuewild')];
  return dropMissing([
    issuersText ?? 'any CA',
    wildcardIssuersText !== undefined &&
      wildcardIssuersText !== issuersText &&
      `wildcards: ${wildcardIssuersText}`,
  ]).join('; ');
}

export function formatChange(fact: FactName, before: FactValue, after: FactValue): string {
  if (fact === 'owner') return 'The registrant changed';
  if (fact === 'registration') {
    return after.length === 0 ? 'The registry no longer has a record of it' : 'Registered';
  }
  if (fact === 'statuses') {
    const added = after.filter((status) => !before.includes(status));
    const removed = before.filter((status) => !after.includes(status));
    const changes = dropMissing([
      added.length > 0 && `added ${formatValue(fact, added)}`,
      removed.length > 0 && `removed ${formatValue(fact, removed)}`,
    ]);
    return `${FACT_LABELS[fact]}: ${changes.join('; ')}`;
  }
  return `${FACT_LABELS[fact]}: ${formatBeforeAfter(formatValue(fact, before), formatValue(fact, after))}`;
}

/** Different values can have the same text, such as two DS records. */
export function formatBeforeAfter(before: string, after: string): string {
  return before === after ? `changed (${after})` : `${before} → ${after}`;
}
