import { describe, expect, test } from 'vitest';
import { createLog } from '../../src/lib/log.ts';
import { ABSENT, createFact, createUnknownFact, DNS_FACTS, type Facts } from '../../src/names/facts.ts';
import type { NameHistory } from '../../src/names/history.ts';
import { listFindingKeys } from '../../src/names/impact.ts';
import { createImpactService } from '../../src/names/order-impact.ts';
import type { OrderImpact } from '../../src/names/ports.ts';
import { createDnsClient } from '../../src/registry/dns/client.ts';
import { newGate } from '../orders/rig.ts';
import { newOrder } from '../orders/sample.ts';
import { namesContextWith, newNameRecord } from '../support/names-context.ts';

/* Whether the impact on a name is known at an approval. */

const ORDER = newOrder(['cafe.rest'], { task: 'authcode' });
const LOCKED = { statuses: createFact(['client transfer prohibited']) };
/** Everything was looked up, and there are no records. */
const NOTHING: Facts = { ...Object.fromEntries(DNS_FACTS.map((fact) => [fact, ABSENT])), ...LOCKED };
const MAIL: Facts = { ...NOTHING, mx: createFact(['10 mail.cafe.rest']) };
const BOTH: Facts = { ...MAIL, a: createFact(['198.51.100.7']) };

function impactsWith(watched?: NameHistory) {
  const saved = new Map<string, OrderImpact>();
  const state = { now: Date.now(), facts: NOTHING, lookups: 0, until: Promise.resolve() };
  const now = () => new Date(state.now);
  // An auth code changes no nameservers, so none are queried.
  const dns = createDnsClient({ resolvers: [], mayConnect: () => false });
  const impacts = createImpactService(
    namesContextWith({
      records: {
        findMany: async () => [],
        findPossibleDependents: async () => [],
        find: async (name) => watched && newNameRecord(name, watched, now()),
      },
      impacts: {
        findImpact: async (orderId) => saved.get(orderId),
        saveImpact: async (orderId, latest, source) => {
          const before = {
            atRequest: latest,
            lastWarning: undefined,
            warningNotifiedAt: undefined,
            warnedFindings: [],
          };
          saved.set(orderId, { ...before, ...saved.get(orderId), latest, isThorough: source !== 'request' });
        },
        saveWarning: async (orderId, latest) => {
          const { atRequest = latest, warnedFindings = [] } = saved.get(orderId) ?? {};
          saved.set(orderId, {
            atRequest,
            latest,
            lastWarning: latest,
            warningNotifiedAt: undefined,
            warnedFindings: [...warnedFindings, ...listFindingKeys(latest)],
            isThorough: true,
          });
        },
        recordWarningNotified: async (orderId, at) => {
          const before = saved.get(orderId);
          if (before !== undefined)
            saved.set(orderId, { ...before, warningNotifiedAt: before.warningNotifiedAt ?? at });
        },
        saveNameServers: async () => undefined,
        findNameServers: async () => undefined,
      },
      dns,
      quickDns: dns,
      lookUpNow: async (name) => {
        state.lookups += 1;
        const at = now();
        await state.until;
        return { name, at, facts: state.facts };
      },
      now,
      log: createLog('fatal'),
      signal: new AbortController().signal,
    }),
  );
  /** Shows the card with its current lookup. */
  const showCard = async () => {
    await impacts.loadForCard(ORDER);
    while ((await impacts.loadForCard(ORDER)) === 'unseen')
      await new Promise((resolve) => setImmediate(resolve));
  };
  /** Clicks Approve, and notifies the person of the result. */
  const approve = async () => {
    const found = await impacts.assessAtApproval(ORDER, now());
    if (found === 'changed') await impacts.recordNotified(ORDER.id);
    return found;
  };
  return { impacts, state, saved, showCard, approve, now };
}

describe('an approval', () => {
  test.each([
    ['a new finding', MAIL, BOTH, 'changed', 'known'],
    ['a finding that is gone', BOTH, MAIL, 'known', 'known'],
    ['no change', MAIL, MAIL, 'known', 'known'],
    ['facts that are no longer visible', MAIL, {}, 'changed', 'unknown'],
    ['a new note', NOTHING, { ...NOTHING, statuses: createFact(['active']) }, 'known', 'known'],
  ])('finds %s', async (_what, before, after, first, second) => {
    const { state, showCard, approve } = impactsWith();
    state.facts = before;
    await showCard();
    state.facts = after;
    state.now += 15 * 60_000;
    expect(await approve()).toBe(first);
    expect(await approve(), 'at the second click').toBe(second);
  });

  test('counts after each finding was shown once, even if a different lookup fails each time', async () => {
    const { state, showCard, approve } = impactsWith();
    state.facts = BOTH;
    await showCard();
    const results: string[] = [];
    for (const failing of ['a', 'mx', 'www_a', 'aaaa', 'mx', 'www_aaaa', 'a', 'mx'] as const) {
      state.facts = { ...BOTH, [failing]: createUnknownFact('timeout') };
      results.push(await approve());
    }
    // The website and the mail servers are one finding each.
    expect(results.filter((result) => result === 'changed')).toHaveLength(2);
    expect(results.slice(2)).toEqual(Array(6).fill('unknown'));
    state.facts = { ...BOTH, mx: createFact(['10 mail.other.example']) };
    expect(await approve(), 'a new finding after that').toBe('changed');
    state.facts = BOTH;
    expect(await approve(), 'the same as at the request').toBe('known');
  });

  test('runs its own lookup, even if the card was just shown', async () => {
    const { state, showCard, approve } = impactsWith();
    await showCard();
    state.facts = MAIL;
    expect(await approve()).toBe('changed');
    expect(state.lookups).toBe(2);
  });

  test('has a card whose lookup is repeated after ten minutes', async () => {
    const { impacts, state, showCard } = impactsWith();
    await showCard();
    state.now += 10 * 60_000;
    await impacts.loadForCard(ORDER);
    expect(state.lookups).toBe(1);
    state.now += 1;
    await impacts.loadForCard(ORDER);
    expect(state.lookups).toBe(2);
  });

  test('before the card shows an impact counts if everything was seen', async () => {
    const { state, approve } = impactsWith();
    state.facts = MAIL;
    expect(await approve()).toBe('known');
    state.facts = {};
    expect(await approve()).toBe('changed');
    expect(await approve()).toBe('unknown');
  });

  test('is refused for both of two concurrent clicks', async () => {
    const { state, showCard, approve } = impactsWith();
    await showCard();
    state.facts = MAIL;
    const { opened, open } = newGate();
    state.until = opened;
    const clicks = [approve(), approve()];
    open();
    expect(await Promise.all(clicks)).toEqual(['changed', 'changed']);
    expect(await approve()).toBe('known');
  });

  test.each([
    ['there is a new finding', NOTHING],
    ['no impact was shown', undefined],
  ])('ignores the second click of a double click if %s', async (_what, shown) => {
    const { impacts, state, showCard, now } = impactsWith();
    state.facts = shown ?? {};
    if (shown !== undefined) await showCard();
    state.facts = shown === undefined ? {} : MAIL;
    const clickedAt = now();
    expect(await impacts.assessAtApproval(ORDER, clickedAt)).toBe('changed');
    state.now += 1;
    expect(await impacts.assessAtApproval(ORDER, now()), 'no one was notified').toBe('changed');
    state.now += 1;
    await impacts.recordNotified(ORDER.id);
    expect(await impacts.assessAtApproval(ORDER, clickedAt), 'clicked before the notification').toBe(
      'changed',
    );
    expect(await impacts.assessAtApproval(ORDER, now())).toBe(shown === undefined ? 'unknown' : 'known');
  });

  test('runs no lookup for a harmless task or a bulk order', async () => {
    const { impacts, state, now } = impactsWith();
    const ofMany = newOrder(['cafe.rest', 'bar.rest'], { task: 'delete' });
    expect(await impacts.assessAtApproval(newOrder(['cafe.rest']), now())).toBe('none');
    expect(await impacts.assessAtApproval(ofMany, now())).toBe('unknown');
    expect(state.lookups).toBe(0);
  });
});
