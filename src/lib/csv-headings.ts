import { cleanText } from './entered-text.ts';

/**
 * Column headings that spreadsheets and registrars use, in several languages. Case, accents, spaces and punctuation are
 * ignored.
 */
const HEADINGS = {
  name: `name, names, domain, domains, domain name, domain names, fqdn, Domäne, Domänen, Domänenname, Domainname,
    nom, domaine, nom de domaine, nombre, dominio, nombre de dominio, nome, nome dominio, nome a dominio,
    domínio, nome de domínio, domein, domeinnaam, domæne, domän, domännamn, domena, doména, домен, 域名, ドメイン`,
  expires: `expires, expiry, expiration, expire, expires at, expires on, expires date, expire date, expired at,
    expiry at, expiry on, expiry date, expiry time, expiration at, expiration on, expiration date, expiration time,
    exp, exp date, expdate, domain expiry, domain expiry date, domain expiration, domain expiration date,
    registry expiry date, registry expiration date, registrar registration expiration date,
    renewal, renewal date, renews on, next due date, paid until, paid till, valid until, valid to, registered until,
    Ablauf, Ablaufdatum, Ablauf am, Ablauftermin, läuft ab, läuft ab am, läuft bis, gültig bis, Gültigkeit bis,
    Verfall, Verfallsdatum, Laufzeit bis, Laufzeitende, bezahlt bis, registriert bis,
    date d’expiration, expire le, échéance, date d’échéance, valable jusqu’au,
    vencimiento, fecha de vencimiento, caducidad, fecha de caducidad, fecha de expiración, caduca, vence, expira,
    scadenza, data scadenza, data di scadenza, scade il, vervaldatum, vervalt op, verloopt, verloopt op, verloopdatum,
    einddatum, expiração, data de expiração, vencimento, data de vencimento, validade, wygasa, data wygaśnięcia,
    utgångsdatum, udløbsdato, expirace, datum expirace`,
  registrar: 'registrar, registrar name, sponsoring registrar, provider, Anbieter, bureau d’enregistrement',
  owner: 'owner, Slack owner, Verantwortlich, Verantwortlicher, Zuständig, responsable',
  tags: 'tags, tag, labels, label, Schlagwörter, Etiketten, étiquettes, etiquetas, etichette',
  channel: 'channel, Slack channel, Kanal, canal, canale, kanaal',
  note: 'note, notes, comment, comments, remark, remarks, Notiz, Notizen, Bemerkung, Bemerkungen, Kommentar, remarque',
  period:
    'period, years, year, term, Laufzeit, Jahre, Dauer, période, durée, années, periodo, años, anni, jaren',
  auth: 'auth, auth code, authorization code, auth info, EPP code, EPP, transfer code, transfer key, Auth-Info',
  ownerc: 'ownerc, owner contact, owner contact id, registrant contact, registrant id',
  adminc: 'adminc, admin contact, admin contact id, admin id, administrative contact',
  techc: 'techc, tech contact, tech contact id, tech id, technical contact',
  nameservers: `nameservers, nameserver, name servers, name server, ns, DNS servers, Namensserver,
    serveurs de noms, servidores de nombres, servidores DNS`,
  zone: 'zone, tld, extension, ending, Endung, Zonenname',
  task: 'task, action, operation, Aufgabe, Vorgang',
  amount:
    'amount, price, cost, Preis, Betrag, Kosten, prix, montant, precio, importe, prezzo, importo, prijs',
  valid_from:
    'valid from, from, effective from, gültig ab, gültig von, valable à partir du, válido desde, valido dal',
  source: 'source, Quelle, origen, fonte, bron',
  currency: 'currency, Währung, devise, moneda, valuta',
} as const;

export type ListColumn = keyof typeof HEADINGS;

/** Known headings of columns that aren't used. Dates in these columns are not expiry dates. */
const UNUSED_HEADINGS = `created, create date, created at, created on, creation date, creation time, date created,
  registered, registered at, registered on, registered since, registration date, reg date, purchased, purchase date,
  start date, Erstellt, erstellt am, Erstellungsdatum, angelegt am, Anlagedatum, registriert am, registriert seit,
  Registrierungsdatum, créé le, date de création, date d’enregistrement, creado, fecha de creación, fecha de registro,
  creato il, data creazione, data di creazione, data di registrazione, aanmaakdatum, registratiedatum,
  data de criação, data de registro, updated, updated at, updated on, updated date, last updated, last update, changed,
  modified, last modified, geändert am, Änderungsdatum, transferred, transfer date, status, state, domain status, Zustand,
  estado, stato, statut, auto renew, auto renewal, renew automatically, automatische Verlängerung, lock, locked,
  registrar lock, transfer lock, privacy, whois privacy, dnssec, id, domain id, days left, findings`;

const COLUMN_BY_HEADING = new Map<string, ListColumn | ''>([
  ...normalizeHeadings(UNUSED_HEADINGS).map((key) => [key, ''] as const),
  ...listColumns().flatMap((column) =>
    normalizeHeadings(HEADINGS[column]).map((key) => [key, column] as const),
  ),
]);

function listColumns(): ListColumn[] {
  return Object.keys(HEADINGS).filter((column): column is ListColumn => column in HEADINGS);
}

function normalizeHeadings(headings: string): string[] {
  return headings.split(',').map(normalizeHeading);
}

function normalizeHeading(heading: string): string {
  const letters = cleanText(heading).normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase();
  return letters.replace(/[^\p{L}\p{N}]+/gu, '');
}

export function isHeading(cell: string): boolean {
  return COLUMN_BY_HEADING.has(normalizeHeading(cell));
}

/** @returns '' for a column that isn't used; an unknown heading in lowercase */
export function findColumn(heading: string): string {
  return COLUMN_BY_HEADING.get(normalizeHeading(heading)) ?? heading.toLowerCase();
}
