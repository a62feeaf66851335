import { XMLParser } from 'fast-xml-parser';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { encodeBasicCredentials } from '../../src/service/authenticator/signature.ts';
import type { ServiceClient } from '../../src/service/client.ts';
import { InvalidInputError, InvalidResponseError } from '../../src/service/codec/codec-errors.ts';
import { decodeJson, encodeJson, encodePathSegment } from '../../src/service/codec/json.ts';
import { decodeXml, encodeElements } from '../../src/service/codec/xml.ts';
import { ServiceError } from '../../src/service/errors.ts';
import { Secret } from '../../src/service/secret.ts';
import { domainRenew } from '../../src/service/tasks/domain.ts';
import { userCreate } from '../../src/service/tasks/user.ts';
import fc, { runs } from '../support/properties.ts';
import { createTestClient, passwordCredential } from './clients.ts';
import { buildHttpResponse, buildXmlResponse, type RawService, startRawService } from './raw-service.ts';

/** Any JavaScript string, including unpaired surrogates and control characters. */
const anyText = fc
  .string({ unit: 'binary', maxLength: 40 })
  .chain((text) =>
    fc
      .constantFrom(
        '',
        '\u0000',
        '\ud800',
        '\udfff',
        '\r',
        '\r\n',
        ']]>',
        '</password><x>',
        '&#13;',
        '&amp;',
        ' ',
      )
      .map((odd) => text + odd),
  );
const XML_CHARACTERS = /^[\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]*$/u;
const hasControl = (text: string): boolean =>
  [...text].some((character) => character < ' ' || character === '\u007f');
const isInvalid = (text: string): boolean => Buffer.from(text, 'utf8').toString('utf8') !== text;

describe('secrets arrive unchanged or are refused before sending', () => {
  it('in XML, without adding an element', () => {
    fc.assert(
      fc.property(anyText, anyText, (user, secret) => {
        const elements = { user, password: new Secret(secret) };
        if (!XML_CHARACTERS.test(user + secret) || isInvalid(user) || isInvalid(secret)) {
          expect(() => encodeElements(elements)).toThrow(InvalidInputError);
          return;
        }
        const written = encodeElements(elements);
        expect(written, 'a parser would turn a carriage return into a line feed').not.toContain('\r');
        expect(written).toMatch(/^<user>[^<>]*<\/user><password>[^<>]*<\/password>$/);
        const values = [...written.matchAll(/<(user|password)>([^<]*)</g)].map(([, , value = '']) =>
          readText(value),
        );
        expect(values).toEqual([user, secret]);
      }),
    );
  });

  it('in JSON', () => {
    fc.assert(
      fc.property(anyText, (secret) => {
        const encode = (): unknown =>
          encodeJson(
            { interface: 'json', method: 'POST', path: '/x', body: { password: new Secret(secret) } },
            { origin: '', path: '', query: '' },
            {},
          ).body;
        if (isInvalid(secret)) expect(encode).toThrow(InvalidInputError);
        else expect(JSON.parse(String(encode()))).toEqual({ password: secret });
      }),
    );
  });

  it('in Basic authentication', () => {
    fc.assert(
      fc.property(anyText, anyText, (user, secret) => {
        let token: string;
        try {
          token = encodeBasicCredentials(user, new Secret(secret));
        } catch (error) {
          expect(error).toBeInstanceOf(InvalidInputError);
          const forbidden =
            user.includes(':') || isInvalid(user) || isInvalid(secret) || hasControl(user + secret);
          expect(forbidden, 'the refused value is invalid').toBe(true);
          return;
        }
        const [, left, right] = /^([^:]*):(.*)$/s.exec(Buffer.from(token, 'base64').toString('utf8')) ?? [];
        expect([left, right]).toEqual([user, secret]);
      }),
    );
  });

  it('in an address', () => {
    fc.assert(
      fc.property(anyText, (segment) => {
        if (isInvalid(segment) || ['', '.', '..'].includes(segment)) {
          expect(() => encodePathSegment(segment)).toThrow(InvalidInputError);
          return;
        }
        const encoded = encodePathSegment(segment);
        expect(encoded).toMatch(/^(?:[A-Za-z0-9\-._~!$&'()*+,;=:@]|%[0-9A-F]{2})+$/);
        expect(decodeURIComponent(encoded)).toBe(segment);
      }),
    );
  });
});

/** Doesn't use the product's XML reader. */
function readText(text: string): string {
  const named: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'", '#13': '\r' };
  return text.replace(/&([a-z#0-9]+);/g, (whole, name) => named[String(name)] ?? whole);
}

const JSON_ANSWER = Buffer.from(
  JSON.stringify({
    stid: '20260701-app1-1',
    status: { code: 'S0110005', text: 'für dich', type: 'SUCCESS' },
    object: { type: 'DomainPrereg', summary: 1 },
    data: [{ name: 'cafe.rest', nameServers: [{ name: 'ns1.a.rest' }] }],
  }),
);
const XML_ANSWER = Buffer.from(
  buildXmlResponse(
    'S0110005',
    '<summary>1</summary><domain_prereg><name a="x > y">für</name><!-- c --><x/></domain_prereg>',
    '<msg><text><![CDATA[a<b]]></text><code>M1</code><type>notice</type></msg>',
  ).trimEnd(),
);

describe('an incomplete or invalid response', () => {
  it.each([
    ['JSON', decodeJson, JSON_ANSWER],
    ['XML', decodeXml, XML_ANSWER],
  ] as const)('of %s that is truncated at any byte is never an envelope', (_name, decode, whole) => {
    expect(decode(whole).envelope.status.code).toBe('S0110005');
    for (let length = 0; length < whole.length; length += 1) {
      expect(() => decode(whole.subarray(0, length)), `cut after ${length} bytes`).toThrow(
        InvalidResponseError,
      );
    }
  });

  const STATUS = '<status><code>S1</code><text>ok</text></status>';
  const whole = (inside: string): string => `<response><result>${STATUS}${inside}</result></response>`;

  it.each([
    ['two roots', `${whole('')}<response/>`],
    ['an empty root before the root', `<x/>${whole('')}`],
    ['text after the root', `${whole('')}x`],
    ['text before the root', `x${whole('')}`],
    ['overlapping elements', whole('<a><b></a></b>')],
    ['an end tag without a start tag', `</a>${whole('')}`],
    ['an unclosed comment', `${whole('')}<!-- x`],
    ['an unclosed processing instruction', `${whole('')}<?x`],
    ['an unclosed CDATA section', whole('<![CDATA[')],
    ['an unclosed attribute', whole('<a b="></a>')],
    ['a duplicate attribute', whole('<a b="1" b="2"/>')],
    ['a bare ampersand', whole('a & b')],
    ['a document type', `<!DOCTYPE response>${whole('')}`],
    ['an entity', `<!DOCTYPE response [<!ENTITY a "b">]>${whole('<a>&a;</a>')}`],
    ['a nested document type', whole('<!doctype x>')],
    ['more than 64 levels', whole('<a>'.repeat(63) + '</a>'.repeat(63))],
    ['only a comment', '<!-- a -->'],
    ['no response', whole('').replaceAll('response', 'answer')],
    ['no result', `<response>${STATUS}</response>`],
    ['no code', whole('').replace('S1', ' ')],
    ['an element named __proto__', whole('<__proto__/>')],
    ['an unknown encoding', `<?xml version="1.0" encoding="UTF-7"?>${whole('')}`],
  ])('with %s is refused', (_name, xml) => {
    expect(decodeXml(Buffer.from(whole('<a>&amp;</a>'))).envelope.status.code).toBe('S1');
    expect(() => decodeXml(Buffer.from(xml))).toThrow(InvalidResponseError);
  });
});

it.each([
  ['', 'the response is empty'],
  ['  \n', 'the response is empty'],
  ['<response>', 'the response is not well-formed XML'],
  ['<response/>x', 'the response is not well-formed XML'],
])('the XML %j is refused: %s', (xml, why) => {
  expect(() => decodeXml(Buffer.from(xml))).toThrow(why);
});

it.each([
  ['the highest code point', '<a>&#x10ffff;</a>', { a: '\u{10ffff}' }],
  ['an invalid code point', '<a>&#x110000;</a>', { a: '&#x110000;' }],
  ['a comment that begins with >', '<!--> <b> --><a>1</a>', { a: '1' }],
  ['adjacent CDATA sections', '<a><![CDATA[1]]><b><![CDATA[2]]></b></a>', { a: { '#text': '1', b: '2' } }],
  ['a quote that begins a text', `<a>'1</a><b c=">">"2</b>`, { a: `'1`, b: '"2' }],
  ['an empty text', '<a></a><b> <c> </c> </b>', { a: '', b: { c: ' ' } }],
  ['a text beside an element', '<a> 1 <b>2</b></a>', { a: { '#text': ' 1 ', b: '2' } }],
  ['64 levels', '<a>'.repeat(63) + '</a>'.repeat(63), { a: expect.anything() }],
])('XML with %s is read', (_what, xml, data) => {
  const status = '<status><code>S1</code></status>';
  const { envelope } = decodeXml(Buffer.from(`<response><result>${status}</result>${xml}</response>`));
  expect(envelope.received).toEqual({ result: expect.anything(), ...data });
});

describe('a large or malicious response', () => {
  const deep = (open: string, close: string, inside: string): string =>
    open.repeat(20_000) + inside + close.repeat(20_000);
  const bomb =
    '<!DOCTYPE lolz [<!ENTITY lol "lol">' +
    Array.from(
      { length: 9 },
      (_, n) => `<!ENTITY lol${n + 1} "${`&lol${n === 0 ? '' : n};`.repeat(10)}">`,
    ).join('') +
    `]>${buildXmlResponse('S1', '<a>&lol9;</a>').split('\n').slice(1).join('\n')}`;

  it.each<[string, (body: Buffer) => unknown, () => Buffer]>([
    ['XML with a document type', decodeXml, () => Buffer.from(bomb)],
    ['XML 20,000 levels deep', decodeXml, () => Buffer.from(buildXmlResponse('S1', deep('<a>', '</a>', '')))],
    ['XML with 20,000 open quotes', decodeXml, () => Buffer.from('<a b=">'.repeat(20_000))],
    ['100 MB of XML', decodeXml, () => Buffer.alloc(100_000_000, '<a></a>')],
    ['JSON 20,000 levels deep', decodeJson, () => Buffer.from(deep('[', ']', ''))],
    [
      'an envelope with data 20,000 levels deep',
      decodeJson,
      () => Buffer.from(`{"status":{"code":"S1"},"data":${deep('{"a":', '}', '1')}}`),
    ],
    ['100 MB of JSON', decodeJson, () => Buffer.alloc(100_000_000, ' ')],
  ])('%s is refused quickly and with little memory', (_name, decode, make) => {
    const body = make();
    const before = process.memoryUsage();
    // CPU time, so that a busy machine doesn't matter.
    const start = process.cpuUsage();
    expect(() => decode(body)).toThrow(InvalidResponseError);
    const { user, system } = process.cpuUsage(start);
    const after = process.memoryUsage();
    expect((user + system) / 1000, 'milliseconds').toBeLessThan(250);
    const more = after.heapUsed - before.heapUsed + (after.external - before.external);
    expect(more / 1e6, 'megabytes more').toBeLessThan(64);
  });

  it('2 MB of well-formed XML is read', () => {
    const record = '<domain_prereg><name>a.rest</name><nserver><name>n</name></nserver></domain_prereg>';
    const body = Buffer.from(buildXmlResponse('S1', record.repeat(24_000)));
    expect(decodeXml(body).envelope.data).toHaveLength(24_000);
  });
});

describe('a response', () => {
  let service: RawService;
  let client: ServiceClient;
  beforeAll(async () => {
    service = await startRawService(() => undefined);
    client = createTestClient(service.origin, passwordCredential);
  });
  afterAll(async () => {
    await client.close();
    await service.close();
  });

  const scalar = fc.oneof(
    fc.string({ maxLength: 8 }),
    fc.constantFrom('S1', 'E1', 'N1', 'ERROR', 'SUCCESS', 'MSG13004', 'password', 'auth', '__proto__'),
    fc.integer(),
    fc.double(),
    fc.boolean(),
    fc.constant(null),
  );
  const { tree } = fc.letrec<{ tree: unknown }>((tie) => ({
    tree: fc.oneof(
      { depthSize: 'small' },
      scalar,
      fc.array(tie('tree'), { maxLength: 4 }),
      named(tie('tree')),
    ),
  }));
  function named(value: fc.Arbitrary<unknown>): fc.Arbitrary<unknown> {
    const name = fc.constantFrom(
      'code',
      'text',
      'type',
      'value',
      'data',
      'objects',
      'summary',
      'user',
      '__proto__',
      'constructor',
    );
    return fc.dictionary(name, value, { maxKeys: 4 });
  }
  const envelope = fc.record(
    {
      stid: tree,
      status: fc.oneof(fc.record({ code: scalar, text: tree, type: tree }, { requiredKeys: [] }), tree),
      object: tree,
      messages: tree,
      data: tree,
    },
    { requiredKeys: [] },
  );
  const toXml = (value: unknown): string => {
    if (Array.isArray(value)) return value.map((item) => `<object>${toXml(item)}</object>`).join('');
    if (typeof value !== 'object' || value === null) return String(value).replace(/[&<>]/g, '');
    return Object.entries(value)
      .map(([name, inside]) => `<${name}>${toXml(inside)}</${name}>`)
      .join('');
  };

  it('with a random envelope gives an output or a ServiceError', async () => {
    const user = { user: 'kim', context: 4, defaultEmail: 'k@a.rest' };
    const outcomes = new Map<string, number>();
    await fc.assert(
      fc.asyncProperty(
        envelope,
        fc.constantFrom(200, 200, 200, 400, 401, 429, 500),
        fc.boolean(),
        async (body, status, xml) => {
          const text = xml ? `<response><result>${toXml(body)}</result></response>` : JSON.stringify(body);
          service.respond = (_request, socket) => socket.write(buildHttpResponse(status, text));
          try {
            await client.run(userCreate, user, { interface: xml ? 'xml' : 'json' });
            outcomes.set('done', (outcomes.get('done') ?? 0) + 1);
          } catch (error) {
            if (!(error instanceof ServiceError)) throw error;
            outcomes.set(error.kind, (outcomes.get(error.kind) ?? 0) + 1);
          }
        },
      ),
      { numRuns: runs(5_000), endOnFailure: true },
    );
    expect(Object.keys(Object.fromEntries(outcomes)).sort()).toEqual([
      'auth',
      'busy',
      'done',
      'refused',
      'unknown_outcome',
    ]);
    expect(Object.getOwnPropertyNames(Object.prototype)).not.toContain('code');
  });

  it('that is truncated at any byte is never a success of a charge', async () => {
    const whole = buildHttpResponse(200, JSON_ANSWER, ['content-type: application/json']);
    let length = 0;
    service.respond = (_request, socket) => socket.end(whole.subarray(0, length));
    const outcomes = new Set<string>();
    for (; length < whole.length; length += 1) {
      await client.run(domainRenew, { name: 'cafe.rest', period: 1 }).then(
        () => outcomes.add(`done after ${length} bytes`),
        (error) => outcomes.add(error.kind),
      );
    }
    expect([...outcomes]).toEqual(['unknown_outcome']);
  });
});

it('the library still accepts input that only our checks refuse', () => {
  // If this fails, some of the checks before the parser may have become unnecessary.
  expect(new XMLParser().parse('<response><code>S05')).toEqual({ response: { code: '' } });
});
