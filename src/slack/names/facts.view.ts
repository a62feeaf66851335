import { present } from '../../lib/collections.ts';
import {
  type FactName,
  type FactValue,
  partOf,
  REGISTRY_DATES,
  registrarName,
  type UnseenReason,
} from '../../names/facts.ts';
import { displayName } from '../../zones/names.ts';
import { code, day, escapeText, firstOf, quote, truncate } from '../kit/blocks.ts';

/*
 * What registries and the DNS show of a name, in words.
 */

/** The label of each fact. */
export const FACT_LABELS: Readonly<Record<FactName, string>> = {
  registration: 'Registration',
  registrar: 'Registrar',
  statuses: 'Status',
  registry_nameservers: 'Nameservers at the registry',
  secure_dns: 'DNSSEC',
  owner: 'Owner’s record',
  transport: 'How the record came',
  registered_at: 'Registered',
  expires_at: 'Expiry',
  registrar_expires_at: 'Expiry at the registrar',
  updated_at: 'Last change of the record',
  transferred_at: 'Last transfer',
  deleted_at: 'Deletion',
  parent_nameservers: 'Delegation',
  nameservers: 'Nameservers',
  soa: 'Zone',
  a: 'Address',
  aaaa: 'IPv6 address',
  www_a: 'Address of www',
  www_aaaa: 'IPv6 address of www',
  cname: 'Alias of',
  www_cname: 'www is an alias of',
  mx: 'Mail servers',
  caa: 'Who may issue certificates',
  spf: 'Who may send mail (SPF)',
  dmarc: 'Mail policy (DMARC)',
  ds: 'DNSSEC at the zone above',
  dnskey: 'DNSSEC keys',
  certificate: 'Certificate',
  lame_nameservers: 'Nameservers that do not know it',
  silent_nameservers: 'Nameservers that do not answer',
  addressless_nameservers: 'Nameservers without an address',
  registrable_domains: 'Domains of its nameservers that are free',
  ending_domains: 'Domains of its nameservers that end soon',
  unfit_ds: 'Nameservers whose keys do not fit',
};

/** Why something was not seen; completes “not seen: …”. */
export const UNSEEN_REASONS: Readonly<Record<UnseenReason, string>> = {
  timeout: 'nobody answered in time',
  unreachable: 'the server cannot be reached',
  malformed: 'the answer cannot be read',
  too_large: 'the answer is too large',
  server_failure: 'the nameservers do not answer for it',
  refused: 'the server refuses the question',
  referral: 'the server names others only',
  alias_loop: 'its aliases lead in a circle',
  private_address: 'it leads into a private network',
  no_servers: 'no DNS server is set',
  invalid_name: 'the name cannot be asked for',
  unexpected_code: 'the server answered with an error',
  registry_unavailable: 'the registry gave no record that can be read',
  not_told: 'the registry does not tell',
  unreadable: 'the registry’s record has a value that can’t be read',
  delegated_without_record: 'the registry has no record of it, but the DNS still delegates it',
  stale: 'nobody has looked lately',
  servers_disagree: 'the zone above says different things',
  no_parent: 'the zone above was not found',
  no_tls: 'nothing answers for it over https',
};

const MAX_TEXTS = 4;
const DATES: ReadonlySet<FactName> = new Set([...REGISTRY_DATES, 'certificate']);

/** A value as people read it, with foreign texts escaped. @param list how several texts are written */
export function formatValue(fact: FactName, value: FactValue, list = formatList): string {
  const [first] = value;
  if (first === undefined) return 'none';
  if (DATES.has(fact)) return day(new Date(first));
  switch (fact) {
    case 'registration':
      return 'registered';
    case 'registrar':
      return formatRegistrar(value);
    case 'owner':
      return 'another owner’s record';
    case 'secure_dns':
      return 'signed';
    case 'statuses':
      return value.map((status) => quote(status, 60)).join(', ');
    case 'mx':
      return list(value.map((text) => text.slice(text.indexOf(' ') + 1)));
    case 'caa':
      return formatIssuers(value);
    case 'ds':
    case 'dnskey':
      return value.length === 1 ? 'one key' : `${value.length} keys`;
    default:
      return list(value);
  }
}

/** A few hosts or addresses, and how many more there are. */
export function formatList(texts: readonly string[]): string {
  return firstOf(
    texts.map((text) => code(displayName(text))),
    MAX_TEXTS,
  );
}

const BRIEF_LENGTH = 24;

/** The same in a place for a line or two. */
export function briefList(texts: readonly string[]): string {
  return firstOf(
    texts.map((text) => code(truncate(displayName(text), BRIEF_LENGTH))),
    2,
  );
}

function formatRegistrar(value: FactValue): string {
  const called = registrarName(value);
  if (called === undefined) return `IANA number ${escapeText(partOf(value, 'iana') ?? '')}`;
  return quote(called, 100);
}

/** Who may issue certificates (RFC 8659), such as `letsencrypt.org`; for all below it nobody. */
function formatIssuers(value: FactValue): string {
  const records = value.map((text) => /^\S+ (\S+) ?(.*)$/.exec(text) ?? [text, text, '']);
  const issuersOf = (wanted: string) => {
    const found = records.filter(([, tag = '']) => tag.toLowerCase() === wanted);
    // Behind the issuer stand parameters; without an issuer the record forbids.
    const named = found.flatMap(([, , issuer = '']) => issuer.split(';', 1).join().trim() || []);
    return found.length === 0 ? undefined : named.length === 0 ? 'nobody' : formatList(named);
  };
  const [all, wildcards] = [issuersOf('issue'), issuersOf('issuewild')];
  return present([
    all ?? 'anybody',
    wildcards !== undefined && wildcards !== all && `for all below it ${wildcards}`,
  ]).join('; ');
}

/** A change in one line: `Registrar: A, before B`. */
export function formatChange(fact: FactName, before: FactValue, after: FactValue): string {
  if (fact === 'owner') return 'The owner’s record changed';
  if (fact === 'registration') {
    return after.length === 0 ? 'The registry has no record of it any more' : 'Registered';
  }
  if (fact === 'statuses') {
    const gone = before.filter((status) => !after.includes(status));
    const added = after.filter((status) => !before.includes(status));
    const changes = present([
      added.length > 0 && `now ${formatValue(fact, added)}`,
      gone.length > 0 && `no longer ${formatValue(fact, gone)}`,
    ]);
    return `${FACT_LABELS[fact]}: ${changes.join(', ')}`;
  }
  return `${FACT_LABELS[fact]}: ${formatValue(fact, after)}, before ${formatValue(fact, before)}`;
}
