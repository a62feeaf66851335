import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';

/* Imports go one way. A new line in these tables is a design decision: see docs/architecture.md. */

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const SRC = join(ROOT, 'src');

/** The folders that each folder may import. */
const ALLOWED: Readonly<Record<string, readonly string[]>> = {
  // One exchange for every outgoing call.
  http: [],
  // General helpers.
  lib: [],
  accounts: ['lib', 'service'],
  // Composition and process.
  app: [
    'accounts',
    'approvals',
    'config',
    'expiry',
    'ledger',
    'lib',
    'mandates',
    'money',
    'names',
    'ops',
    'orders',
    'outbox',
    'policy',
    'registry',
    'service',
    'slack',
    'slack/inbound',
    'slack/outbound',
    'store',
    'web',
  ],
  approvals: [
    'accounts',
    'config',
    'expiry',
    'ledger',
    'lib',
    'mandates',
    'money',
    'names',
    'orders',
    'outbox',
    'policy',
  ],
  'cli.ts': ['ops'],
  config: ['approvals', 'ledger', 'lib', 'money', 'orders', 'registry', 'service'],
  expiry: ['accounts', 'config', 'lib', 'names', 'orders', 'outbox', 'service', 'zones'],
  ledger: ['accounts', 'approvals', 'lib', 'money', 'names', 'orders', 'policy', 'service'],
  'main.ts': ['app', 'config', 'lib', 'store'],
  mandates: ['accounts', 'approvals', 'lib', 'money', 'orders', 'policy', 'zones'],
  money: ['ledger', 'lib', 'zones'],
  names: [
    'accounts',
    'approvals',
    'config',
    'http',
    'ledger',
    'lib',
    'mandates',
    'money',
    'orders',
    'outbox',
    'policy',
    'registry',
    'zones',
  ],
  // Commands of the operator.
  ops: ['accounts', 'config', 'http', 'ledger', 'lib', 'slack/outbound', 'store'],
  orders: [
    'accounts',
    'approvals',
    'config',
    'ledger',
    'lib',
    'mandates',
    'money',
    'policy',
    'service',
    'zones',
  ],
  outbox: ['http', 'lib', 'mandates', 'names', 'orders', 'service', 'zones'],
  policy: ['approvals', 'ledger', 'lib', 'money', 'zones'],
  // Public records: RDAP, DNS, certificates.
  registry: ['http', 'lib'],
  // The domain service’s API.
  service: ['http'],
  // Features, and the table of actions.
  slack: [
    'accounts',
    'approvals',
    'config',
    'expiry',
    'ledger',
    'lib',
    'mandates',
    'money',
    'names',
    'ops',
    'orders',
    'outbox',
    'policy',
    'service',
    'slack/kit',
    'slack/outbound',
    'zones',
  ],
  // Routes deliveries to features.
  'slack/inbound': ['accounts', 'lib', 'service', 'slack', 'slack/kit', 'slack/outbound', 'zones'],
  // The parts that any Slack bot needs: blocks, forms, files.
  'slack/kit': ['lib'],
  // Everything sent to Slack.
  'slack/outbound': ['http', 'lib', 'orders', 'outbox', 'service', 'slack/kit'],
  // Implements the ports. store and slack never import each other.
  store: [
    'accounts',
    'approvals',
    'config',
    'expiry',
    'ledger',
    'lib',
    'mandates',
    'money',
    'names',
    'orders',
    'outbox',
    'policy',
    'zones',
  ],
  // Pages for browsers.
  web: ['approvals', 'lib', 'names', 'orders', 'policy'],
  zones: ['lib'],
};

/** Packages that only one part may import. */
const OWNERS: readonly (readonly [pattern: RegExp, owners: readonly string[]])[] = [
  [/^@slack\/(bolt|web-api|socket-mode)/, ['slack/inbound', 'slack/outbound']],
  [/^@slack\/types/, ['slack', 'slack/inbound', 'slack/kit', 'slack/outbound']],
  [/^(@prisma\/|pg$)/, ['store']],
  [/^@domain-steward\/embedded-postgres$/, ['main.ts', 'cli.ts', 'app', 'ops']],
  // Only for tests and the demo.
  [/^(@domain-steward\/|domain-steward-verify$)/, []],
  // Only for the bench's comparison.
  [/^pg-boss/, []],
  [/^undici/, ['http', 'service', 'registry', 'slack/outbound']],
  [/^fast-xml-parser/, ['service']],
  [/^dns-packet/, ['registry']],
  [/^prom-client/, ['app']],
  [/^pino/, ['lib']],
  [/^standardwebhooks/, ['outbox']],
  [/^yaml$/, ['ops', 'policy']],
  [/^csv-parse/, ['lib']],
  [/^csv-stringify/, ['slack/kit']],
];

/** Pure modules that a view may use at run time, besides types. */
const PURE = [
  /^lib\/(collections|duration)\.ts$/,
  /^accounts\/account\.ts$/,
  /^expiry\/(chart|days|deadline)\.ts$/,
  /^money\/(amount|budget|prices|spend|waiting)\.ts$/,
  /^ledger\/difference\.ts$/,
  /^names\/(dates|facts|filter|impact|incident|portfolio|posture|presets|timeline|unexplained-changes)\.ts$/,
  /^orders\/(bulk\/columns|bulk\/waves|input-issue|order|tasks)\.ts$/,
  /^policy\/(change-log|policy|rule-parts|starting-points)\.ts$/,
  /^zones\/(calendar-day|lifecycle|names|rules)\.ts$/,
  /^slack\/kit\/(blocks|form|mrkdwn|pages|phone)\.ts$/,
  /^slack\/.*\.view\.ts$/,
];

interface Import {
  readonly from: string;
  /** A file in the repository, or a package. */
  readonly to: string;
  readonly ours: boolean;
  /** Whether only types are imported. */
  readonly type: boolean;
}

const STATEMENT =
  /^(?:import|export)\s+(type\s)?(?:(?:[^;'"]*?)\sfrom\s+)?'([^']+)'|\bimport\(\s*'([^']+)'\s*\)/gm;

/** Lists the sources in a folder, by their paths from it. */
function listSources(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((file) => /\.tsx?$/.test(file) && !file.startsWith('store/generated/'))
    .sort();
}

function parseImports(folder: string, files: readonly string[]): Import[] {
  return files.flatMap((from) =>
    [...readFileSync(join(folder, from), 'utf8').matchAll(STATEMENT)].map(([, type, named, dynamic]) => {
      const target = named ?? dynamic ?? '';
      const ours = target.startsWith('.');
      const to = ours ? relative(folder, join(folder, dirname(from), target)) : target;
      return { from, to, ours, type: type !== undefined };
    }),
  );
}

const FILES = listSources(SRC);
const IMPORTS: readonly Import[] = parseImports(SRC, FILES);

const SLACK_PARTS: ReadonlySet<string> = new Set(['inbound', 'kit', 'outbound']);

/** Returns the part that a file belongs to. */
function getPart(file: string): string {
  const [first = '', second] = file.split('/');
  return first === 'slack' && SLACK_PARTS.has(second ?? '') ? `${first}/${second}` : first;
}

test('imports are found in the sources', () => {
  expect(FILES.length).toBeGreaterThan(100);
  expect(IMPORTS).toContainEqual({
    from: 'slack/prereg/prereg.ts',
    to: 'slack/feature.ts',
    ours: true,
    type: true,
  });
  expect(IMPORTS.some(({ from, to }) => from === 'slack/inbound/app.ts' && to === '@slack/bolt')).toBe(true);
});

test('every part imports only allowed parts', () => {
  const across = IMPORTS.filter(({ from, to, ours }) => ours && getPart(from) !== getPart(to));
  const wrong = across.filter(({ from, to }) => ALLOWED[getPart(from)]?.includes(getPart(to)) !== true);
  expect(wrong.map(({ from, to }) => `${from} imports ${to}`)).toEqual([]);
});

test('every allowed import is used', () => {
  const used = new Set(IMPORTS.map(({ from, to }) => `${getPart(from)} imports ${getPart(to)}`));
  const allowed = Object.entries(ALLOWED).flatMap(([part, others]) =>
    others.map((other) => `${part} imports ${other}`),
  );
  expect(allowed.filter((line) => !used.has(line))).toEqual([]);
  const parts = new Set(FILES.map(getPart));
  expect(Object.keys(ALLOWED).filter((part) => !parts.has(part))).toEqual([]);
});

test('packages are imported only by the part that owns them', () => {
  const wrong = IMPORTS.filter(({ ours }) => !ours).flatMap(({ from, to }) => {
    const owner = OWNERS.find(([pattern]) => pattern.test(to));
    return owner === undefined || owner[1].includes(getPart(from)) ? [] : [`${from} imports ${to}`];
  });
  expect(wrong).toEqual([]);
});

test('only one file imports the generated database client', () => {
  const users = IMPORTS.filter(({ to }) => to.startsWith('store/generated/')).map(({ from }) => from);
  expect([...new Set(users)]).toEqual(['store/database.ts']);
});

describe('a file in the store', () => {
  const files = FILES.filter((file) => /^store\/[^/]+\.ts$/.test(file)).map((file) => ({
    name: file.slice('store/'.length),
    text: readFileSync(join(SRC, file), 'utf8'),
  }));
  const sqlFiles = files.filter(({ text }) => /Prisma\.(sql|raw)`?\b/.test(text));

  test('that uses SQL has its reason in docs/architecture.md', () => {
    const document = readFileSync(join(SRC, '..', 'docs', 'architecture.md'), 'utf8');
    const [, table = ''] = /\| file of `store\/` \|([\s\S]*?)\n\n/.exec(document) ?? [];
    const listed = [...table.matchAll(/`([a-z-]+\.ts)`/g)].map(([, name]) => name);
    expect(listed.toSorted()).toEqual(sqlFiles.map(({ name }) => name).toSorted());
  });
});

describe('views', () => {
  const views = IMPORTS.filter(({ from }) => /^slack\/.*\.view\.ts$/.test(from));

  test('use only pure functions and plain data', () => {
    const wrong = views.filter(
      ({ to, ours, type }) => ours && !type && !PURE.some((pattern) => pattern.test(to)),
    );
    expect(wrong.map(({ from, to }) => `${from} imports ${to}`)).toEqual([]);
  });

  test('import no stores, clients or contexts', () => {
    const services =
      /\b\w*(?:Store|Deps|(?:Slack|Orders|Sending)Context|Log|Directory|Web|Client|Interaction|Call|Feature)\b/;
    const wrong = FILES.filter((file) => file.endsWith('.view.ts')).flatMap((file) =>
      [...readFileSync(join(SRC, file), 'utf8').matchAll(/^import (?:type )?(\{[^}]*\})/gm)].flatMap(
        ([, names = '']) => services.exec(names)?.map((name) => `${file} imports ${name}`) ?? [],
      ),
    );
    expect(wrong).toEqual([]);
  });

  test('import no package but zod', () => {
    const packages = new Set(views.filter(({ ours, type }) => !ours && !type).map(({ to }) => to));
    expect([...packages].filter((name) => name !== 'zod')).toEqual([]);
  });
});

test('only the settings read the environment', () => {
  const readers = FILES.filter((file) => /process\.env\b/.test(readFileSync(join(SRC, file), 'utf8')));
  expect(readers).toEqual(['config/environment.ts']);
});

const Manifest = z.object({
  dependencies: z.record(z.string(), z.string()).default({}),
  devDependencies: z.record(z.string(), z.string()).default({}),
});

describe.each(['embedded-postgres', 'ledger-verify', 'sandbox-service', 'slack-workspace'])(
  'the package %s',
  (name) => {
    const folder = join(ROOT, 'packages', name);
    const files = listSources(folder).filter((file) => /^(src|page)\//.test(file));
    const imports = parseImports(folder, files);

    test('imports neither the product nor other packages', () => {
      expect(imports.length).toBeGreaterThan(10);
      const wrong = imports.filter(({ to, ours }) =>
        ours ? !/^(src|page)\//.test(to) : /^(@domain-steward\/|#)/.test(to),
      );
      expect(wrong.map(({ from, to }) => `${from} imports ${to}`)).toEqual([]);
    });

    test('declares its imports as dependencies', () => {
      const { dependencies, devDependencies } = Manifest.parse(
        JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')),
      );
      const used = imports.filter(({ to, ours }) => !ours && !to.startsWith('node:')).map(({ to }) => to);
      const packages = new Set(used.map((to) => /^(@[^/]+\/)?[^/]+/.exec(to)?.[0] ?? to));
      expect([...packages].sort()).toEqual(
        Object.keys({ ...dependencies, ...devDependencies })
          .filter((each) => !each.startsWith('@types/'))
          .sort(),
      );
    });
  },
);

test('the demo imports the bot and the packages by name', () => {
  const folder = join(ROOT, 'demo');
  const wrong = parseImports(folder, listSources(folder)).filter(
    ({ to, ours }) => ours && to.startsWith('..'),
  );
  expect(wrong.map(({ from, to }) => `${from} imports ${to}`)).toEqual([]);
});

test('there are no import cycles, types included', () => {
  const edges = new Map<string, string[]>();
  for (const { from, to, ours } of IMPORTS) {
    if (ours) edges.set(from, [...(edges.get(from) ?? []), to]);
  }
  const cycles: string[] = [];
  const done = new Set<string>();
  const visit = (file: string, path: readonly string[]): void => {
    const at = path.indexOf(file);
    if (at !== -1) cycles.push([...path.slice(at), file].join(' → '));
    if (at !== -1 || done.has(file)) return;
    for (const next of edges.get(file) ?? []) visit(next, [...path, file]);
    done.add(file);
  };
  for (const file of FILES) visit(file, []);
  expect(cycles).toEqual([]);
});

/**
 * Code that reads orders as the bot itself. An order's messages go to the place of its request and its
 * approvers. The rest checks first who may see it, or hides private orders.
 */
const READ_AS_SYSTEM = [
  'slack/bulk/bulk-messages.ts',
  'slack/expiry/digest-notifications.ts',
  'slack/home/home.ts',
  'slack/mandates/mandate-day.ts',
  'slack/names/rules.ts',
  'slack/orders/order-buttons.ts',
  'slack/orders/order-messages.ts',
];

test('Slack and web code reads orders as the viewer', () => {
  const asSystem = FILES.filter(
    (file) =>
      /^(?:slack|web)\//.test(file) &&
      /viewer: 'system'|\.(?:load|loadWithHistory|loadHistory|loadAnswers)\([^;]*'system'\)/.test(
        readFileSync(join(SRC, file), 'utf8'),
      ),
  );
  expect(asSystem).toEqual(READ_AS_SYSTEM);
});
