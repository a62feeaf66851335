import { describe, expect, it } from 'vitest';
import { buildBulkInput, planBulk, type RowFacts } from '../../../src/orders/bulk/bulk.ts';
import type { BulkTask } from '../../../src/orders/bulk/columns.ts';
import { parseBulkFile } from '../../../src/orders/bulk/read-csv.ts';
import { hoursLater, START } from '../sample.ts';

const WATCHED: RowFacts = { isWatched: true, isLapsing: false };

async function planFile(
  task: BulkTask,
  text: string,
  facts: Readonly<Record<string, Partial<RowFacts>>> = {},
) {
  const read = await parseBulkFile(task, text);
  if (!read.ok) throw new Error(JSON.stringify(read.issues));
  return planBulk(task, read, (name) => ({ ...WATCHED, ...facts[name] }), START);
}

const createRenewalFile = (count: number, extraRows = '') =>
  `name,period\n${Array.from({ length: count }, (_, index) => `n${index}.rest,1`).join('\n')}\n${extraRows}`;
const createPriceFacts = (minor: number) => ({ price: { currency: 'EUR', minor } });

describe('rows that can’t be requested', () => {
  it('are skipped with the reason, in file order', async () => {
    const { rows, skipped } = await planFile(
      'renew',
      'name,period\nopen.rest,1\nbad,1\nno.rest,1\ngone.rest,1\nfine.rest,1',
      {
        'open.rest': { openOrderId: '7k2m9qx4h1ab' },
        'no.rest': { refusingRuleNames: 'nobody renews these' },
        'gone.rest': { deletedAt: START },
      },
    );
    expect(rows.map(({ name }) => name)).toEqual(['fine.rest']);
    expect(skipped.map(({ line, issues }) => [line, issues[0]?.code])).toEqual([
      [2, 'open_order'],
      [3, 'zone_issue'],
      [4, 'refused_by_policy'],
      [5, 'already_deleted'],
    ]);
  });

  it('don’t include registrations of names that were deleted before', async () => {
    const text = 'name,ownerc,adminc,techc,nameservers\nnew.rest,1,2,3,ns1.example.net ns2.example.net';
    expect((await planFile('create', text, { 'new.rest': { deletedAt: START } })).rows).toHaveLength(1);
  });
});

describe('a warning is shown for', () => {
  const listFindings = (bulkPlan: Awaited<ReturnType<typeof planFile>>) =>
    bulkPlan.findings.map(({ code, names }) => [code, names]);

  it('a period that is far from the others and in only a few rows', async () => {
    const bulkPlan = await planFile('renew', createRenewalFile(30, 'slip.rest,10\nalmost.rest,2'));
    expect(listFindings(bulkPlan)).toContainEqual(['unusual_period', ['slip.rest']]);
    const manyLongRows = Array.from({ length: 20 }, (_, index) => `long${index}.rest,10`).join('\n');
    expect(
      listFindings(await planFile('renew', createRenewalFile(30, manyLongRows))).map(([code]) => code),
    ).not.toContain('unusual_period');
  });

  it.each<[what: string, periods: number[], unusual: string[]]>([
    ['two years more', [1, 1, 3], ['n2.rest']],
    ['one year more', [1, 1, 2], []],
    ['twice as long', [2, 2, 4], ['n2.rest']],
    ['less than twice as long', [3, 3, 5], []],
    ['a tenth of the rows', [...Array(18).fill(1), 5, 5], ['n18.rest', 'n19.rest']],
    ['more than a tenth', [...Array(17).fill(1), 5, 5], []],
  ])('only an unusual period: %s', async (_, periods, unusual) => {
    const text = `name,period\n${periods.map((period, index) => `n${index}.rest,${period}`).join('\n')}`;
    const { findings } = await planFile('renew', text);
    expect(findings.find(({ code }) => code === 'unusual_period')?.names ?? []).toEqual(unusual);
  });

  it.each<[what: string, prices: number[], unusual: string[]]>([
    ['three times the median', [10, 10, 30], []],
    ['more than three times the median', [10, 10, 31], ['n2.rest']],
    ['a high price in the middle of the file', [10, 100, 10], ['n1.rest']],
    ['the higher of two prices', [10, 100], ['n1.rest']],
  ])('only an unusual price: %s', async (_, prices, unusual) => {
    const facts = Object.fromEntries(
      prices.map((minor, index) => [`n${index}.rest`, createPriceFacts(minor)]),
    );
    const { findings } = await planFile('renew', createRenewalFile(prices.length), facts);
    expect(findings.find(({ code }) => code === 'unusual_price')?.names ?? []).toEqual(unusual);
  });

  it('a name that expires within 30 days', async () => {
    const nameServers = 'ns1.example.net ns2.example.net';
    const text = `name,nameservers\nsoon.rest,${nameServers}\nlater.rest,${nameServers}`;
    const later = hoursLater(30 * 24);
    const { findings } = await planFile('nameservers', text, {
      'soon.rest': { expiresAt: new Date(later.getTime() - 1) },
      'later.rest': { expiresAt: later },
    });
    expect(findings.find(({ code }) => code === 'expires_soon')?.names).toEqual(['soon.rest']);
  });

  it('a price far above the median, and for an unknown price', async () => {
    const prices = Object.fromEntries(
      Array.from({ length: 9 }, (_, index) => [`n${index}.rest`, createPriceFacts(1_800)]),
    );
    const bulkPlan = await planFile('renew', createRenewalFile(9, 'dear.rest,1\nunknown.rest,1'), {
      ...prices,
      'dear.rest': createPriceFacts(9_000),
    });
    expect(listFindings(bulkPlan)).toContainEqual(['unusual_price', ['dear.rest']]);
    expect(listFindings(bulkPlan)).toContainEqual(['price_unknown', ['unknown.rest']]);
  });

  it('a name that is not watched, set to lapse, in use, or of unknown use', async () => {
    expect(
      listFindings(
        await planFile('renew', createRenewalFile(1), {
          'n0.rest': { isWatched: false, isLapsing: true, ...createPriceFacts(1) },
        }),
      ),
    ).toEqual([
      ['not_watched', ['n0.rest']],
      ['set_to_lapse', ['n0.rest']],
    ]);
    const facts = {
      'a.rest': { usage: 'yes', expiresAt: hoursLater(24) },
      'b.rest': { usage: 'unknown' },
    } as const;
    expect(listFindings(await planFile('delete', 'name\na.rest\nb.rest', facts))).toEqual([
      ['in_use', ['a.rest']],
      ['use_unknown', ['b.rest']],
      ['expires_soon', ['a.rest']],
    ]);
  });
});

it('the input of a bulk order has the period of each name', () => {
  const rows = [{ name: 'a.rest', input: { names: ['a.rest'], period: 2 } }, { name: 'b.rest' }];
  expect(buildBulkInput(rows)).toEqual({ periods: { 'a.rest': 2 } });
  expect(buildBulkInput(rows.slice(1))).toEqual({});
});
