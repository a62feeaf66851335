import { describe, expect, test } from 'vitest';
import { parseWhoisResponse } from '../../../src/registry/whois/record.ts';
import fc from '../../support/properties.ts';

const NOW = new Date('2026-11-27T12:00:00Z');

/** The expiry day, the unreadable text, or why there is no record. */
function read(zone: string, lines: string, label = 'Domain Name'): string {
  const name = `cafe.${zone}`;
  const reading = parseWhoisResponse(`${label}: ${name}\n${lines}\n`, name, NOW);
  if (reading.kind !== 'record') return reading.kind;
  const { expiry } = reading;
  if (expiry === undefined) return 'not published';
  return expiry.kind === 'read' ? expiry.date.toISOString().slice(0, 10) : `not readable: ${expiry.text}`;
}

describe('dates by zone', () => {
  test.each([
    ['hk', 'Expiry Date:  03-04-2027', '2027-04-03'],
    ['rs', 'Expiration date: 10.03.2027 12:31:19', '2027-03-10'],
    ['fi', 'expires............: 4.7.2027 08:21:00', '2027-07-04'],
    ['ax', 'expires............: 4.7.2027', '2027-07-04'],
    ['cz', 'expire:       03.01.2027', '2027-01-03'],
    ['tz', 'expire:       03.01.2027', '2027-01-03'],
    ['fo', 'expire:       03.01.2027', '2027-01-03'],
    ['cr', 'expire:       03.01.2027', '2027-01-03'],
    ['mk', 'expire:       02.07.2027', '2027-07-02'],
    ['fr', 'Expiry Date: 05/12/2027', '2027-12-05'],
    ['fr', 'Expiry Date: 2027-12-05T10:32:43Z', '2027-12-05'],
    ['re', 'Expiry Date: 05/12/2027', '2027-12-05'],
    ['im', 'Expiry Date: 05/12/2027 00:59:47', '2027-12-05'],
    ['bg', 'expires at: 05/06/2027 00:00:00 EEST', '2027-06-05'],
    ['hm', 'Expiration Date:  05/09/27', '2027-09-05'],
    ['es', 'Expiration Date:  05/09/27', '2027-09-05'],
    ['il', 'validity:     03-04-2027', '2027-04-03'],
    ['pt', 'Data de expiração / Expiration Date (dd/mm/yyyy): 05/02/2027', '2027-02-05'],
    ['pf', "Date d'expiration (JJ/MM/AAAA) : 05/02/2027", '2027-02-05'],
    ['tk', '   Record will expire on: 03/02/2027', 'not readable: 03/02/2027'],
    ['tk', '   Record will expire on: 03/22/2027', '2027-03-22'],
    ['ml', '   Record will expire on: 22/03/2027', '2027-03-22'],
    ['gq', '   Record will expire on: 03/03/2027', '2027-03-03'],
    ['edu', 'Domain expires:   31-Jul-2027', '2027-07-31'],
    ['my', 'd [Record Expired]   13-MAY-2027', '2027-05-13'],
    ['ie', 'renewal:      21-March-2027', '2027-03-21'],
    ['ug', 'Expiry:  7th April, 2027', '2027-04-07'],
    ['is', 'expires:      May 22 2027', '2027-05-22'],
    ['is', 'expires:      May  2 2027', '2027-05-02'],
    ['lk', 'Expires On:Wednesday,30th April,2027', '2027-04-30'],
    ['us', 'Domain Expiration Date:   Sun Apr 25 23:59:59 GMT 2027', '2027-04-25'],
    ['co', 'Registry Expiry Date: 2027-04-25T23:59:59Z', '2027-04-25'],
    ['mo', 'Record expires on 2027-02-05', '2027-02-05'],
    ['mo', ' Record created on 2000-09-22\n Record expires on 2027-02-05', '2027-02-05'],
    ['tw', '   Record expires on 2027-11-09 00:00:00 (UTC+8)', '2027-11-09'],
    ['tw', '   Record expires on 2027-11-09 (YYYY-MM-DD)', '2027-11-09'],
    ['sk', 'Valid Until:                  2027-09-03', '2027-09-03'],
    ['sk', 'Valid-date                   2027-09-03', '2027-09-03'],
    ['ws', 'Domain Currently Expires: 2027-03-03', '2027-03-03'],
    ['ly', 'Expired: 2027-05-05 10:00:00', '2027-05-05'],
    ['ly', 'Expired: 2025-05-05 10:00:00', 'not published'],
    ['ir', 'expire-date:\t2027-12-22', '2027-12-22'],
    ['nz', 'domain_datebilleduntil: 2027-02-17T00:00:00+13:00', '2027-02-17'],
    ['co.ca', 'date_renewal: 2027-01-09', '2027-01-09'],
    ['ua', 'status:     OK-UNTIL 20270903121852', '2027-09-03'],
    ['com.ua', 'status:     ok\nexpires:          2027-12-04 02:00:00+02', '2027-12-04'],
    ['jp', '[Expires on]                    2027/05/31', '2027-05-31'],
    ['co.jp', '[State]                         Connected (2027/09/30)', '2027-09-30'],
    ['co.jp', '[State]                         Deleted (2027/09/30)', 'not published'],
    ['jp', '[有効期限]                      2027/05/31', '2027-05-31'],
    ['pl', 'renewal date:          2027.12.23 00:00:00\noption expiration date: 2027.09.06', '2027-12-23'],
    ['ru', 'paid-till:     2027-06-30T21:00:00Z\nfree-date:     2027-08-01', '2027-06-30'],
    ['th', 'Renew date: 8 Oct 2026\nExp date: 7 Oct 2027', '2027-10-07'],
    ['kr', 'Expiration Date             : 2027. 05. 19.', '2027-05-19'],
    ['kr', '사용 종료일                  : 2027. 05. 19.', '2027-05-19'],
    ['com', 'Registrar Registration Expiration Date: 2027-06-14-T10:32:43Z', '2027-06-14'],
    ['tr', 'Expires on..............: 2027-Aug-22.', '2027-08-22'],
    [
      'uk',
      '    Relevant dates:\n        Registered on: 10-Dec-2005\n        Expiry date:  10-Dec-2027',
      '2027-12-10',
    ],
    ['br', 'created:     19990518 #162310\nexpires:     20270518', '2027-05-18'],
    ['se', 'expires:          2027-10-20', '2027-10-20'],
    ['dk', 'Expires:              2027-03-31', '2027-03-31'],
    ['it', 'Expire Date:        2027-04-21', '2027-04-21'],
    ['cn', 'Expiration Time: 2027-03-17 12:48:36', '2027-03-17'],
    ['sg', 'Expiration Date:\t\t03-Apr-2027 23:59:59', '2027-04-03'],
    ['id', 'Expiration Date:03-Apr-2027 23:59:59 UTC', '2027-04-03'],
    ['uz', 'Expiration Date: 3-Apr-2027', '2027-04-03'],
    ['cl', 'Expiration date: 2027-04-03 12:00:00 CLST', '2027-04-03'],
    ['ar', 'expire:\t\t2027-04-03 00:00:00', '2027-04-03'],
    ['bo', 'Fecha de corte: 2027-04-03', '2027-04-03'],
    ['ve', 'Fecha de Vencimiento: 2027-04-03 12:02:22', '2027-04-03'],
    ['nc', 'Expires on               : 2027-05-06', '2027-05-06'],
    ['tm', 'Expiry : 2027-04-03', '2027-04-03'],
    ['kg', 'Record expires on   Fri Apr  2 23:59:00 2027', '2027-04-02'],
    ['io', 'Registry Expiry Date: 2027-04-03T00:00:00.000+0000', '2027-04-03'],
    ['am', '   Registrar:  amnic\n   Expires:    2027-04-03', '2027-04-03'],
    ['gg', 'Registry fee due on 30th April each year', 'not published'],
    ['de', 'Status: connect', 'not published'],
    ['com', 'Expiry Date:', 'not published'],
    ['com', 'Expiry Date: 0000-00-00', 'not readable: 0000-00-00'],
    ['com', 'Expiry Date: 2027-02-30', 'not readable: 2027-02-30'],
    ['com', 'Expiry Date: 2027-04-03 25:00:00', 'not readable: 2027-04-03 25:00:00'],
    ['com', 'Expiry Date: 9999-12-31', 'not readable: 9999-12-31'],
    ['com', 'Expiry Date: 03/04/2027', 'not readable: 03/04/2027'],
    ['com', 'Expiry Date: 05/09/27', 'not readable: 05/09/27'],
    ['com', 'Expiry Date: 25/09/27', 'not readable: 25/09/27'],
    ['com', 'Expiry Date: 3-Apr-27', 'not readable: 3-Apr-27'],
    ['com', 'Expiry Date: 1807000000', 'not readable: 1807000000'],
    ['com', 'Expiry Date: in 20:27', 'not readable: in 20:27'],
    ['com', 'Creation Date: 2026-04-03\nExpiry Date: 2020-04-03', 'not readable: 2020-04-03'],
    [
      'com',
      'Registry Expiry Date: 2027-06-14\nRegistrar Registration Expiration Date: 2027-05-14',
      '2027-06-14',
    ],
    ['com', 'Expiration Date: 2027-06-14\nExpiration Date: 2027-05-14', '2027-05-14'],
    ['com', '% Expiration Date: 2027-06-14\n# Expires: 2027-06-14', 'not published'],
    ['com', 'NOTICE: The expiration date is the date 2027-06-14.\nExpiry Date: 2028-01-02', '2028-01-02'],
  ])('.%s: %s', (zone, lines, expected) => {
    expect(read(zone, lines)).toBe(expected);
  });
});

/** Lines, their expected date, and the zones that use them. */
const SHAPES: readonly (readonly [lines: string, expected: string, zones: string])[] = [
  [
    'Registry Expiry Date: 2027-04-03T10:00:00Z',
    '2027-04-03',
    'bf bh bw cd cx gov ie jobs ki kw mg mn mz nf om pro ps rw sb tl tv',
  ],
  ['Registry Expiry Date: 2027-04-03T10:00:00.123Z', '2027-04-03', 'af cm gd gl iq ke ma ng so'],
  ['Registry Expiry Date: 2027-04-03T10:00:00+0400', '2027-04-03', 'ge'],
  ['Registry Expiry Date: 2027-04-03', '2027-04-03', 'pe za com.au'],
  ['Expiry Date: 2027-04-03T10:00:00.456Z', '2027-04-03', 'gs gy hn ht mm na sx'],
  ['Expiration Date: 2027-04-03T10:00:00Z', '2027-04-03', 'bj bn cat do mu vg'],
  ['Expiration Date:2027-04-03T23:59:59.0Z', '2027-04-03', 'pw xxx'],
  ['Expiration Date:03-Apr-2027 10:00:00 UTC', '2027-04-03', 'ag gi in la lc org sc'],
  ['Domain Expiration Date:03-Apr-2027 04:05:06 UTC', '2027-04-03', 'asia me'],
  ['Domain Expiration Date:                Sat Apr 03 23:59:59 GMT 2027', '2027-04-03', 'biz travel tel'],
  ['Expiration Date: 2027-04-03', '2027-04-03', 'al az by ci kn mx tt'],
  ['Expiration Date: 2027-04-03 10:00:00', '2027-04-03', 'st'],
  ['Expiration-Date: 2027-04-03', '2027-04-03', 'st'],
  ['expiration date..........: 2027-04-03', '2027-04-03', 'dm'],
  ['Expiration:.....2027-04-03', '2027-04-03', 'tg'],
  ['Expiry : 2027-04-03', '2027-04-03', 'ac sh'],
  ['Expiry date:           2027/04/03', '2027-04-03', 'ca'],
  ['Domain Expires: 2027-04-03', '2027-04-03', 'bm ms'],
  ['Domain expires  : 03-Apr-2027 10:00 UTC', '2027-04-03', 'cm'],
  ['expires:     2027-04-03', '2027-04-03', 'hr nu museum ec'],
  ['Expires:\t\t2027-04-03', '2027-04-03', 'lt gp'],
  ['Expires On: 2027-04-03T10:00:00Z', '2027-04-03', 'name'],
  ['  Registered On: Before 2001-03-01\n  Expires On: 2027-04-03', '2027-04-03', 'ro'],
  ['Expires On: 03-APR-2027', '2027-04-03', 'pr'],
  ['Expires on:  2027-04-03', '2027-04-03', 'md'],
  ['Expires    on    2027-04-03', '2027-04-03', 'md'],
  ['Expires on....: Saturday,  3rd April, 2027', '2027-04-03', 'lk'],
  ['Expires: Sat Apr  3 10:00:00 2027', '2027-04-03', 'vu'],
  ['Expires on: Sat Apr  3 10:00:00 2027', '2027-04-03', 'to'],
  ['Expiry Date: Saturday, April 3, 2027', '2027-04-03', 'pk'],
  ['Expire Date : April 3, 2027', '2027-04-03', 'pk'],
  ['Expiration Date: Apr 3 2027', '2027-04-03', 'gt'],
  ['Expiration Date: 03/Apr/2027', '2027-04-03', 'jo'],
  ['Expires: 03-Apr-2027', '2027-04-03', 'ba'],
  ['expire:                 2027-04-03', '2027-04-03', 'ee si'],
  ['Fecha de Expiración: 2027-04-03', '2027-04-03', 'pa'],
  ["Date d'expiration:           2027-04-03T10:00:00.1Z", '2027-04-03', 'sn'],
  ['到期日期: 2027-04-03 10:00:00', '2027-04-03', 'cn xn--fiqs8s'],
  ['paid-till:     2027-04-03T21:00:00Z\nfree-date:     2027-05-04', '2027-04-03', 'su xn--p1ai'],
  ['Renewal Date: 2027-04-03', '2027-04-03', 'co.za org.za'],
  ['Renewal date:\n\tSaturday 3rd Apr 2027', '2027-04-03', 'ac.uk gov.uk'],
  ['expire:       03.04.2027', '2027-04-03', 'ao ls mw'],
  ['Expiration date........: 03-04-2027 00:00:00 GMT+1', '2027-04-03', 'tn'],
  ['Expiration Date: 03/04/2027 23:59:00', '2027-04-03', 'pt'],
  ['Record will expire on: 04/22/2027', '2027-04-22', 'ga cf'],
  ['Record expires on 03-Apr-2027.', '2027-04-03', 'com nu'],
  ['Expires on..............: Sat, Apr 03, 2027', '2027-04-03', 'com'],
  ['Expiration Date: 2027-04-03 04:00:00.000', '2027-04-03', 'com'],
  ['Registrar Registration Expiration Date: 2027-04-03T10:00:00-07:00Z', '2027-04-03', 'com'],
  ['Registrar Registration Expiration Date: 2027-04-03 00:00:00 -0400', '2027-04-03', 'com'],
  ['Registry Expiry Date: 2027-04-03 10:00:00 +0000 UTC', '2027-04-03', 'com'],
  ['Expiry Date: 03 Apr 2027 10:00:00 UTC', '2027-04-03', 'com'],
  ['Expiration Date: 03/04/2027', 'not readable: 03/04/2027', 'cy vn bs mt com'],
  ['Expiration Date: 04-03-2027', 'not readable: 04-03-2027', 'com np'],
  ['Expires: 03.04.2027', 'not readable: 03.04.2027', 'com'],
  ['Renewal Date: 2027-04-03', 'not published', 'com ug'],
  ['Date registered: 1999-05-27\nDate out of quarantine: 2027-04-03', 'not published', 'nl'],
  ['Registered on 12th June 2004\nRegistry fee due on 12th June each year', 'not published', 'je'],
  ['Domain creationDate: 1999-06-07 13:01:43 (GMT+0:00)', 'not published', 'kz'],
  ['changed: 20270403 10:00:00', 'not published', 'at'],
  ['record creationDate: 2005-05-10', 'not published', 'hu'],
  ['registered: 05/10/1996', 'not published', 'lu sm'],
  ['Registered:\tTue Dec 12 2000', 'not published', 'be'],
];

test.each(SHAPES)('reads %s as %s in every zone that uses it', (lines, expected, zones) => {
  for (const zone of zones.split(' ')) expect(read(zone, lines), zone).toBe(expected);
});

describe('answers', () => {
  test.each([
    ['of another name', 'Domain Name: other.rest\nExpiry Date: 2027-04-03', 'name_mismatch'],
    ['of a longer name', 'Domain Name: mycafe.rest\nExpiry Date: 2027-04-03', 'name_mismatch'],
    ['without a name', 'Expiry Date: 2027-04-03', 'name_mismatch'],
    [
      'that report a limit like a record',
      'Domain Name: cafe.rest\nRegistrar: LIMIT EXCEEDED\nExpiry Date: 2027-04-03',
      'limited',
    ],
    ['that say limit exceeded', 'Your connection limit exceeded. Please slow down.', 'limited'],
    ['that say quota exceeded', '% Quota exceeded', 'limited'],
    ['that say too many requests', 'Error: too many requests from 192.0.2.1, try again later', 'limited'],
    ['that report the query rate for a name', 'You exceeded the query rate for cafe.rest', 'limited'],
    ['without a record', 'No match for "CAFE.REST".', 'not_found'],
    ['with a free name', 'Domain: cafe.rest\nStatus: free', 'not_found'],
    ['of a web server', '<html>hello</html>', 'not_whois'],
    ['that are empty', '', 'not_whois'],
  ])('%s are refused', (_, text, kind) => {
    expect(parseWhoisResponse(text, 'cafe.rest', NOW).kind).toBe(kind);
  });

  test('with several records are read only for the name itself', () => {
    const text = 'Domain: other.rest\nexpires: 2026-12-01\n\nDomain: cafe.rest\r\nexpires: 2027-04-03\n';
    expect(parseWhoisResponse(text, 'cafe.rest', NOW)).toMatchObject({
      expiry: { date: new Date('2027-04-03') },
    });
  });

  test('with values on separate lines have dates and a registrar', () => {
    const text =
      '    Domain name:\n        cafe.co.uk\n\n    Registrar:\n        Café Names Ltd [Tag = CAFE]\n        URL: https://cafe.example\n\n    Registered on: 10-Dec-2005\n    Expiry date: 10-Dec-2027\n';
    expect(parseWhoisResponse(text, 'cafe.co.uk', NOW)).toEqual({
      kind: 'record',
      creationDate: new Date('2005-12-10'),
      expiry: { kind: 'read', date: new Date('2027-12-10') },
      registrar: 'Café Names Ltd',
    });
  });

  test('may have the name in Unicode', () => {
    const text = 'domain: кафе.рф\npaid-till: 2027-06-30';
    expect(parseWhoisResponse(text, 'xn--80akn5b.xn--p1ai', NOW).kind).toBe('record');
  });

  test.each([
    ['a long indentation', ' '.repeat(60)],
    ['many empty lines', '\n'.repeat(60_000)],
    ['many separators', '\u2028'.repeat(20_000)],
    ['many words', 'error '.repeat(10_000)],
  ])('with %s before a limit are parsed fast', (_, text) => {
    expect(parseWhoisResponse(`Domain: cafe.rest\n${text}limit of`, 'cafe.rest', NOW).kind).toBe('record');
  });

  test('with many spaces in a date are parsed fast', () => {
    const text = `Domain: cafe.rest\nexpires: 2027${' '.repeat(60_000)}x`;
    expect(parseWhoisResponse(text, 'cafe.rest', NOW)).toMatchObject({ expiry: { kind: 'unreadable' } });
  });

  test('of any text are parsed without an exception, and only to a day that is in the text', () => {
    const pieces = [
      'Expiry Date',
      'expires',
      'cafe.hk',
      'Domain',
      ': ',
      '\n',
      '2027',
      '27',
      '-',
      '/',
      '.',
      '4',
      '13',
      ' ',
      'Apr',
      '[',
      '%',
    ];
    const text = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 300 }),
      fc.array(fc.constantFrom(...pieces), { maxLength: 60 }).map((parts) => parts.join('')),
    );
    fc.assert(
      fc.property(text, (body) => {
        const reading = parseWhoisResponse(`Domain: cafe.hk\n${body}`, 'cafe.hk', NOW);
        if (reading.kind !== 'record' || reading.expiry?.kind !== 'read') return;
        expect(body).toContain(String(reading.expiry.date.getUTCDate()));
      }),
    );
  });
});
