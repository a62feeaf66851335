import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import type { PendingRequirements } from '../../../src/approvals/approvers.ts';
import type { Briefing } from '../../../src/approvals/briefing.ts';
import type { OrderCost } from '../../../src/money/prices.ts';
import type { Impact, ImpactItem } from '../../../src/names/impact.ts';
import type { Order } from '../../../src/orders/order.ts';
import { getOrderTask } from '../../../src/orders/tasks.ts';
import { orderDetailsView } from '../../../src/slack/orders/order-details.view.ts';
import { newRequirements } from '../../orders/sample.ts';
import { newBriefing } from '../../support/briefing.ts';
import { createApprovalEvent, newOrderEvent } from '../../support/log.ts';
import { countPhoneLines, renderMrkdwn } from '../../support/reading.ts';
import { toWireBlocks } from '../kit/limits.ts';
import { buildSampleStatement, REQUESTED_AT, renderCard, SAMPLE_INPUTS, sampleOrder } from './samples.ts';

/*
 * The table of facts in docs/wording.md, row by row: an unusual fact is visible on the card, a usual one is not.
 * *Details* has the facts that the table assigns to it.
 */

const NAMES = ['cafe.rest'];
const DECISION: PendingRequirements = {
  requirements: newRequirements(NAMES),
  isStricter: false,
  policyVersion: 3,
  decidedBy: [],
  standIns: new Map(),
};

function calculateCost(minor: number, unknown = 0): OrderCost {
  const amount = { currency: 'EUR', minor };
  const source = 'Contract 7';
  const quote = { amount, validFrom: '2026-11-01', source, times: 2 };
  return {
    names: minor === 0 ? [{ name: 'cafe.rest' }] : [{ name: 'cafe.rest', quote }],
    sums: minor === 0 ? [] : [amount],
    unknown,
    mayCostMore: false,
    days: ['2026-11-01'],
    sources: [source],
  };
}

const USUAL: Partial<Briefing> = {
  approvers: ['U0BOB', 'S0APPROVERS'],
  pendingRequirements: DECISION,
  history: [],
  now: REQUESTED_AT,
  cost: calculateCost(3_600),
};

function assessImpact(...items: readonly ImpactItem[]): Impact {
  return { task: 'delete', seenAt: REQUESTED_AT, items, isInUse: 'yes', areNewNameserversReady: undefined };
}

function newTask(task: Order['task'], changes: Partial<Order> = {}, names: readonly string[] = NAMES): Order {
  const checked = getOrderTask(task).check(SAMPLE_INPUTS[task]);
  if (!checked.ok) throw new Error(`the sample for ${task} is invalid`);
  return sampleOrder('PENDING', { task, input: checked.input, ...changes }, names);
}
const noLock: ImpactItem = { code: 'no_transfer_lock', severity: 'at_stake' };
const impact = (atRequest: Impact, latest = atRequest) => ({
  impact: {
    atRequest,
    latest,
    lastWarning: undefined,
    warningNotifiedAt: undefined,
    warnedFindings: [],
    isThorough: true,
  },
});
const waiting = sampleOrder('PENDING', {}, NAMES);

/** A row of the table: its fact, an order and its briefing with the unusual fact, and the visible text. */
type Case = readonly [fact: string, order: Order, extras: Partial<Briefing>, texts: readonly string[]];
const CASES: readonly Case[] = [
  [
    'price',
    sampleOrder('PENDING', {}, ['menu.example']),
    { cost: calculateCost(0, 1) },
    ['This may cost money (price unknown)'],
  ],
  ['price', newTask('owner-change'), { cost: undefined }, ['price unknown']],
  [
    'price',
    sampleOrder('PENDING', {}, ['a.rest', 'b.rest']),
    { cost: calculateCost(3_600, 1) },
    ['Price unknown for 1 name'],
  ],
  ['system', sampleOrder('PENDING', { account: { ...waiting.account, context: 1 } }), {}, ['DEMO · Renew']],
  [
    'approvals given',
    sampleOrder('PENDING', { approvalsRequired: 2 }),
    {
      history: [createApprovalEvent(sampleOrder('PENDING', { approvalsRequired: 2 }), ['U0CAROL'])],
      pendingRequirements: { ...DECISION, requirements: newRequirements(NAMES, 2) },
    },
    ['1 of 2 approvals (@person)'],
  ],
  [
    'approvals given',
    sampleOrder('PENDING', { approvals: [{ userId: 'U0ADA', at: REQUESTED_AT, agreedExcess: [] }] }),
    {
      history: [
        newOrderEvent('approved', 'PENDING', {
          progress: {
            requirements: newRequirements(NAMES).list.map((requirement) => ({ ...requirement, slots: [] })),
            isApproved: false,
            isStricter: false,
            policyVersion: 0,
          },
        }),
      ],
    },
    ['0 of 1 approval'],
  ],
  [
    'several rules apply',
    waiting,
    {
      pendingRequirements: {
        ...DECISION,
        requirements: {
          ...newRequirements(NAMES),
          list: [
            ...newRequirements(NAMES).list,
            {
              rule: { kind: 'rule', name: 'brand', index: 0, version: 3 },
              names: NAMES,
              needed: 2,
              approvers: ['U0CFO'],
              silent: [],
              signed: false,
            },
          ],
        },
      },
    },
    ['1 approval from @person', '2 approvals from @person'],
  ],
  [
    'rule and version',
    waiting,
    {
      history: [
        newOrderEvent('requested', 'PENDING', {
          decidedBy: [{ kind: 'rule', name: 'brand', index: 0, version: 3 }],
        }),
      ],
    },
    ['rule “brand” of policy version 3'],
  ],
  [
    'approver’s question',
    waiting,
    { history: [newOrderEvent('asked', 'PENDING', { question: 'for two years?' })] },
    ['“for two years?”'],
  ],
  ['impact: at risk or not checked', newTask('authcode'), impact(assessImpact(noLock)), ['No transfer lock']],
  [
    'impact: nothing found, or new nameservers work',
    newTask('delete'),
    impact({ ...assessImpact(), isInUse: 'no' }),
    ['No website or mail found'],
  ],
  [
    'emergency approval',
    sampleOrder('SUCCEEDED', { emergencyApprovedBy: 'U0ADA' }),
    { history: [newOrderEvent('emergency_approved', 'APPROVED', { reason: 'the shop is down' })] },
    ['used break glass', '“the shop is down”', 'not reviewed yet'],
  ],
  ['private', sampleOrder('PENDING', { isPrivate: true }), {}, ['private']],
  [
    'unknown outcome',
    sampleOrder('UNKNOWN'),
    {},
    [
      'may have reached the service',
      'Client transaction ID 7k2m9qx4h1ab, sent',
      'won’t be sent again automatically',
    ],
  ],
  ['service’s response', sampleOrder('FAILED'), {}, ['EF01015 “not in this account”']],
];

function textOf(blocks: readonly object[]): string {
  const texts: string[] = [];
  JSON.stringify(blocks, (key, value: unknown) => {
    if (key === 'text' && typeof value === 'string') texts.push(value);
    return value;
  });
  return renderMrkdwn(texts.join('\n'));
}

describe('the facts of a card', () => {
  const document = readFileSync(new URL('../../../docs/wording.md', import.meta.url), 'utf8');
  const rows = document
    .slice(document.indexOf('## What a card shows'))
    .split('\n')
    .flatMap((line) => (/^\| (?!fact|---)/.test(line) ? [line.split('|').map((cell) => cell.trim())] : []))
    .map(([, fact = '', usual = '', unusual = '']) => ({ fact, usual, unusual }));
  /** Facts that flow tests and other view tests cover, most of them on every surface (unusual-facts.test.ts). */
  const ELSEWHERE = [
    ...['stricter policy since the request', 'stand-in', 'expiry before and after'],
    ...['deletion date before a restore', 'name to register', 'last order for the name'],
    ...['content of the request', 'account', 'interface', 'zone rules', 'budget', 'impact: stops working'],
    ...['impact changed since the request', 'retry of a failed order', 'bulk rows'],
    'public records about an unknown outcome',
  ];

  it('have a case for each row that can be unusual', () => {
    const covered = new Set(CASES.map(([fact]) => fact));
    const missing = rows.filter(({ fact, unusual }) => unusual !== '–' && !covered.has(fact));
    expect(missing.map(({ fact }) => fact)).toEqual(ELSEWHERE);
    expect([...covered].filter((fact) => !rows.some((row) => row.fact === fact))).toEqual([]);
  });

  it.each(CASES)('include “%s” if unusual (%#)', (_fact, order, extras, texts) => {
    const card = renderCard(order, { ...USUAL, ...extras });
    const shown = textOf([{ text: card.text }, ...card.blocks]);
    for (const text of texts) expect(shown).toContain(text);
    const usual = renderCard(waiting, USUAL);
    const before = textOf([{ text: usual.text }, ...usual.blocks]);
    for (const text of texts) expect(before, 'a usual order doesn’t have it').not.toContain(text);
  });

  it('have their explanations in Details', () => {
    const history = [newOrderEvent('requested', 'PENDING', { price: calculateCost(3_600) })];
    const briefing = newBriefing({ ...USUAL, statement: buildSampleStatement(waiting), history });
    const origin = { channelId: 'C1' };
    const view = orderDetailsView({ order: waiting, briefing, canDecide: true, origin, page: 1 });
    const shown = textOf(view.blocks);
    for (const text of [
      'about €36.00 (price list of 1 Nov 2026)',
      'This is 2 times the 1-year price',
      'Approvers',
      'alice in context 4',
      'POST /domain/cafe.rest/',
      'History',
    ])
      expect(shown).toContain(text);
  });

  it('of a closed order are in Details, too', () => {
    const order = sampleOrder('SUCCEEDED', { emergencyApprovedBy: 'U0ADA' });
    const reason = 'the shop is down, '.repeat(10);
    const history = [
      newOrderEvent('emergency_approved', 'APPROVED', {
        reason,
        actor: 'U0ADA',
        version: 2,
        at: REQUESTED_AT,
      }),
    ];
    const data = { created: '2026-11-21T10:00:00Z' };
    const items = order.items.map((item) => ({
      ...item,
      result: { ...item.result, summary: { code: 'done' } as const, data },
    }));
    const ended = { ...order, items };
    const briefing = newBriefing({ ...USUAL, statement: buildSampleStatement(waiting), history });
    const view = orderDetailsView({
      order: ended,
      briefing,
      canDecide: false,
      origin: { channelId: 'C1' },
      page: 1,
    });
    const shown = textOf(view.blocks);
    for (const text of [
      reason.trim(),
      'not reviewed yet',
      'S0105 The domain was renewed.',
      '20261121-app1-7',
      'Created: ',
    ])
      expect(shown).toContain(text);
    expect(countPhoneLines(toWireBlocks(renderCard(ended, briefing).blocks))).toBeLessThanOrEqual(6);
  });

  it('of an accepted task include the approver and the transfer lock', () => {
    const name = 'cafe-downtown.rest';
    const accepted = sampleOrder('SUCCEEDED', { task: 'owner-change', input: { name } }, [name]);
    const order = {
      ...accepted,
      items: accepted.items.map((item) => ({ ...item, answeredAt: REQUESTED_AT })),
    };
    const { blocks } = renderCard(
      order,
      newBriefing({ ...USUAL, history: [createApprovalEvent(order, ['U0BOB'])] }),
    );
    const text = textOf(toWireBlocks(blocks));
    expect(text).toMatch(/approved by @person · no transfers until \d+ \w+ \d{4}\n/);
    expect(text).not.toContain('…');
  });

  it('keep a usual card short', () => {
    expect(countPhoneLines(toWireBlocks(renderCard(waiting, USUAL).blocks))).toBeLessThanOrEqual(12);
  });
});
