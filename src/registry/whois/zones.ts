/**
 * The format of a zone's WHOIS responses. Zones without an entry use the common labels and unambiguous dates.
 */
export interface WhoisZoneFormat {
  /** The order of numeric dates that don't start with the year. */
  readonly dateOrder?: 'day_first';
  /** Whether dates can have two-digit years, such as `05/09/27`. */
  readonly hasTwoDigitYears?: boolean;
  /** Normalized expiry labels that only this zone uses. */
  readonly expiryLabels?: readonly string[];
  /** Reads the date from the value of another label. The first group is the date. */
  readonly embeddedExpiry?: { readonly label: string; readonly pattern: RegExp };
  /** Default: the name alone. */
  readonly buildQuery?: (name: string) => string;
}

/** Zones that write the day first. Unclear zones are left out, because a wrong day is worse than none. */
const DAY_FIRST_ZONES = [
  // Registries that use FRED, which writes 03.01.2027.
  ...['cz', 'fo', 'tz', 'cr', 'mk', 'ao', 'ls', 'mw'],
  ...['fr', 're', 'pm', 'tf', 'wf', 'yt'],
  ...['pt', 'tn', 'hk', 'xn--j6w193g', 'rs', 'xn--90a3ac', 'fi', 'ax', 'im', 'bg', 'xn--90ae'],
];
const EXPIRES_ON_RENEWAL_DATE: WhoisZoneFormat = { expiryLabels: ['renewal', 'renewal date'] };
const CONNECTED_UNTIL = { label: 'state', pattern: /^connected \(([^()]+)\)$/i };

const ZONES: Readonly<Record<string, WhoisZoneFormat>> = {
  ...Object.fromEntries(DAY_FIRST_ZONES.map((zone) => [zone, { dateOrder: 'day_first' as const }])),
  hm: { dateOrder: 'day_first', hasTwoDigitYears: true },
  es: { dateOrder: 'day_first', hasTwoDigitYears: true },
  il: { dateOrder: 'day_first', expiryLabels: ['validity'] },
  pl: EXPIRES_ON_RENEWAL_DATE,
  ie: EXPIRES_ON_RENEWAL_DATE,
  za: EXPIRES_ON_RENEWAL_DATE,
  'ac.uk': EXPIRES_ON_RENEWAL_DATE,
  'gov.uk': EXPIRES_ON_RENEWAL_DATE,
  ca: { expiryLabels: ['date renewal'] },
  bo: { expiryLabels: ['fecha de corte'] },
  sk: { expiryLabels: ['valid date'] },
  ua: { embeddedExpiry: { label: 'status', pattern: /^ok-until (\d{14})$/i } },
  jp: { embeddedExpiry: CONNECTED_UNTIL, buildQuery: (name) => `${name}/e` },
  de: { buildQuery: (name) => `-T dn,ace ${name}` },
};

/** @param name in ASCII. */
export function findWhoisZoneFormat(name: string): WhoisZoneFormat {
  return findByLongestSuffix(name, (zone) => (Object.hasOwn(ZONES, zone) ? ZONES[zone] : undefined)) ?? {};
}

/** Finds the value for the longest zone that contains a name. */
export function findByLongestSuffix<Value>(
  name: string,
  findValue: (zone: string) => Value | undefined,
): Value | undefined {
  const labels = name.split('.');
  for (let labelIndex = 1; labelIndex < labels.length; labelIndex += 1) {
    const value = findValue(labels.slice(labelIndex).join('.'));
    if (value !== undefined) return value;
  }
  return undefined;
}

/** Labels in lower case, with single spaces between words. */
export const EXPIRY_LABELS: ReadonlySet<string> = new Set([
  ...['registry expiry date', 'registry expiration date', 'registrar registration expiration date'],
  ...['expiry', 'expiry date', 'expiry on', 'expiration', 'expiration date', 'expiration time'],
  ...[
    'expires',
    'expires on',
    'expires at',
    'expires date',
    'expire',
    'expire date',
    'expire on',
    'exp date',
  ],
  ...['domain expires', 'domain expires on', 'domain expiry date', 'domain expiration date'],
  ...['domain currently expires', 'domain name expiration date', 'domain name expires', 'domain expiration'],
  ...['domain datebilleduntil', 'date of expiration', 'date expires', 'date expired', 'date of expiry'],
  ...['record expires', 'record expires on', 'record will expire on', 'record expired', 'record expiry date'],
  ...['paid till', 'paid until', 'valid until', 'valid till', 'valid to', 'expiring on', 'expirydate'],
  ...[
    'expirationdate',
    'renewal due',
    'registration expiration date',
    'registration expires',
    'validity end',
  ],
  ...['data de expiração / expiration date', 'data de expiração', 'data de expiracao'],
  ...['fecha de vencimiento', 'fecha de expiración', 'fecha de expiracion', "date d'expiration"],
  ...['有効期限', '사용 종료일', '过期时间', '到期日期'],
]);

/** Means the expiry only if the date is in the future. */
export const EXPIRED_LABEL = 'expired';

/** Labels that take precedence, because a response may also include the registrar's record. */
export const REGISTRY_EXPIRY_LABELS: ReadonlySet<string> = new Set([
  'registry expiry date',
  'registry expiration date',
]);

export const CREATION_LABELS: ReadonlySet<string> = new Set([
  ...['creation date', 'creation time', 'created', 'created on', 'created at', 'created date', 'create date'],
  ...['registered', 'registered on', 'registered date', 'registered at', 'registration', 'registration date'],
  ...['registration time', 'registrationdate', 'date registered', 'date created', 'date of registration'],
  ...['domain registered', 'domain created', 'domain registration date', 'domain creation date', 'creation'],
  ...['domain record activated', 'domain name commencement date', 'domain dateregistered', 'activated'],
  ...['record created', 'record created on', 'registered since', 'first registration date', 'connected date'],
  ...['data de registo / creation date', 'data de registo', 'fecha de activación', 'fecha de creación'],
  ...['fecha de creacion', 'fecha de registro', 'date de création', '登録年月日', '등록일', '注册时间'],
]);

export const REGISTRAR_LABELS: ReadonlySet<string> = new Set([
  ...['registrar', 'registrar name', 'sponsoring registrar', 'sponsoring registrar organization'],
  ...['current registrar', 'domain registrar', 'authorized agency', 'registration service provider'],
  ...['registrar organization', '등록대행자', '注册商'],
]);

export const NAME_LABELS: ReadonlySet<string> = new Set([
  ...['domain', 'domain name', 'domainname', 'complete domain name', 'nome de domínio / domain name'],
  ...['nome de domínio', 'nombre de dominio', 'nom de domaine', '도메인이름', 'ドメイン名', '域名'],
]);
