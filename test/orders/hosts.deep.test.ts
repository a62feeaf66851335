import { expect, test } from 'vitest';
import type { OrderTaskName } from '../../src/orders/order.ts';
import { buildStatement } from '../../src/orders/statement.ts';
import type { StatementRequest } from '../../src/orders/statement-shape.ts';
import { getOrderTask } from '../../src/orders/tasks.ts';
import { toAffectedName } from '../../src/policy/subject.ts';
import { orderTitle } from '../../src/slack/orders/order.view.ts';
import { commonFields } from '../../src/slack/orders/statement.view.ts';
import { sampleOrder } from '../slack/orders/samples.ts';
import fc from '../support/properties.ts';
import { ENDPOINTS } from './sample.ts';

/*
 * For any text typed as a host, either the form refuses it, or the rules, the card and the request use the host that a
 * browser reads.
 */

const SPELLING_COUNT = 3_000;
const TIMEOUT_MS = 300_000;

/** Prefers common parts, so that forms accept many spellings. */
const mostly = <T, U>(usual: fc.Arbitrary<T>, odd: fc.Arbitrary<U>) =>
  fc.oneof({ arbitrary: usual, weight: 4 }, { arbitrary: odd, weight: 1 });
const label = fc.oneof(
  fc.constantFrom(
    'cafe',
    'www',
    'brand',
    'a',
    'xn--caf-dma',
    'café',
    'faß',
    'ﬁne',
    'ＣＡＦＥ',
    '日本',
    'mañana',
    '0x7f',
    '1',
  ),
  fc.stringMatching(/^[a-zA-Z0-9-]{1,12}$/),
);
const dot = mostly(fc.constant('.'), fc.constantFrom('。', '．', '｡', '..', '%2e'));
const host = fc
  .tuple(label, fc.array(fc.tuple(dot, label), { minLength: 1, maxLength: 3 }))
  .map(([first, rest]) => [first, ...rest.flat()].join(''));
const strayCharacter = fc.constantFrom(
  ...[
    '\t',
    '\n',
    ' ',
    '\u00ad',
    '\u200b',
    '\u202e',
    '\u0000',
    '%63',
    '%',
    '_',
    '*',
    '[',
    ']',
    ':',
    '@',
    '\\',
    '|',
    '^',
    'İ',
    '･',
  ],
);
const prefix = fc.constantFrom(
  ...[
    '',
    '',
    '',
    '',
    'http://',
    'HTTPS://',
    'http://http://',
    '//',
    '/',
    '\\\\',
    'http:',
    'http:\\\\',
    'ftp://',
    'mailto:',
  ],
  ...['info@', 'http://info@', 'a@b@', 'a:b@', 'bar.rest@', 'bar.rest%40', '@', '[', '<http://', '.', ' '],
);
const suffix = fc.constantFrom(
  ...[
    '',
    '',
    '',
    '',
    '.',
    '..',
    '。',
    '/',
    '//',
    '/menu',
    '/@bar.rest',
    '/a:b',
    '?',
    '?a=b',
    '#',
    '#x',
    ':',
    ':80',
    ':x',
  ],
  ...[
    '/?',
    '/%2e%2e',
    '\\',
    '\\@bar.rest',
    '@bar.rest',
    '@',
    ']',
    '>',
    '|bar.rest>',
    '|cafe.rest>',
    '/..',
    '?@bar.rest',
    ' ',
  ],
);
/** A host with extra characters, as people and attackers type it. */
const spelling = fc
  .tuple(
    mostly(fc.constant(''), prefix),
    host,
    mostly(fc.constant(''), suffix),
    mostly(fc.constant(null), fc.tuple(strayCharacter, fc.nat({ max: 20 }))),
  )
  .map(([start, middle, end, noise]) => {
    if (noise === null) return start + middle + end;
    const [character, position] = noise;
    return start + middle.slice(0, position) + character + middle.slice(position) + end;
  });

const REGISTRATION_FIELDS = {
  ownerc: 1,
  adminc: 2,
  techc: 3,
  nameServers: ['ns1.dns.example', 'ns2.dns.example'],
};
/** Every field with a host that rules or people depend on. */
const FIELDS: readonly (readonly [OrderTaskName, (typed: string) => object])[] = [
  ['redirect', (source) => ({ source, target: 'https://x.example/', type: 'DOMAIN', mode: 'HTTP' })],
  ['renew', (name) => ({ names: [name], period: 1 })],
  ['delete', (name) => ({ name })],
  ['create', (name) => ({ ...REGISTRATION_FIELDS, name })],
  ['nameservers', (host) => ({ name: 'cafe.example', nameServers: ['ns1.dns.example', host] })],
];

/** The host that a browser reads in a request; undefined if there is more than a host and a path. */
function readBrowserHost(sent: string): string | undefined {
  const address = `http://${sent.replace(/^[^/?#@\\]*@/, '')}`;
  if (!URL.canParse(address)) return undefined;
  const { hostname, port, username, password, search, hash } = new URL(address);
  return port + username + password + search + hash === '' ? hostname : undefined;
}

test(
  'rules, the card and the request use the same host unless the form refuses it',
  async () => {
    const counts = { accepted: 0, refused: 0 };
    await fc.assert(
      fc.asyncProperty(spelling, async (typed) => {
        for (const [task, buildInput] of FIELDS) {
          const checked = getOrderTask(task).check(buildInput(typed));
          counts[checked.ok ? 'accepted' : 'refused'] += 1;
          if (!checked.ok) continue;
          const [name = ''] = checked.names;
          const order = { ...sampleOrder('PENDING', { task, input: checked.input }, [name]) };
          const statement = buildStatement(order, ENDPOINTS);
          const sent = listSentHosts(task, statement.items[0]?.request);
          const card = [orderTitle(order), ...commonFields(statement, order).flat()]
            .join('\n')
            .replaceAll('\u2060', '');
          for (const sentHost of sent) {
            expect(toAffectedName(sentHost, 'host').hosts[0], `${task}: ${typed}`).toBe(
              readBrowserHost(sentHost),
            );
            expect(card, `${task}: ${typed}`).toContain(sentHost);
          }
          if (task !== 'nameservers') expect(sent, `${task}: ${typed}`).toEqual([name]);
          // The input is checked again before it is sent, which changes nothing.
          expect(getOrderTask(task).check(checked.input)).toEqual(checked);
          // A browser opens the same host for the typed text.
          const typedHost = readBrowserHost(typed.trim().replace(/^https?:\/\//i, ''));
          const [last = ''] = sent.slice(-1);
          if (typedHost !== undefined)
            expect(typedHost.replace(/\.$/, ''), `${task}: ${typed}`).toBe(readBrowserHost(last));
        }
      }),
      { numRuns: SPELLING_COUNT },
    );
    expect(counts.accepted).toBeGreaterThan(SPELLING_COUNT / 4);
    expect(counts.refused).toBeGreaterThan(SPELLING_COUNT / 4);
  },
  TIMEOUT_MS,
);

function listSentHosts(task: OrderTaskName, request: StatementRequest | undefined): string[] {
  if (request?.interface !== 'json') throw new Error('expected a JSON request');
  const body = Object.assign({ name: '', source: '', nameServers: [] }, request.body);
  if (task === 'nameservers') return body.nameServers.map((each: { name: string }) => each.name);
  const [, , pathName = ''] = request.path.split('/');
  return [task === 'redirect' ? body.source : task === 'create' ? body.name : decodeURIComponent(pathName)];
}
