import { z } from 'zod';
import { FACT_NAMES, type FactName, UNSEEN_REASONS } from './facts.ts';
import type { KnownFact, NameHistory } from './history.ts';
import { IMPACT_TASKS, type Impact, impactItem } from './impact.ts';
import { ALARM_KINDS, type LedgerEntry } from './unexplained-changes.ts';

/*
 * Reads what is kept of a name as JSON, where moments are texts. Values that a later release has kept and that this
 * one does not know are left out.
 */

const moment = z.iso.datetime().transform((text) => new Date(text));
const value = z.array(z.string());
const knownValue = z.object({ value, firstSeen: moment, lastSeen: moment });
const reason = z.enum(UNSEEN_REASONS).catch('stale');
const knownFact = z.object({
  current: knownValue.optional(),
  candidate: knownValue.extend({ sightings: z.int().positive() }).optional(),
  past: z.array(knownValue),
  unseen: z.object({ reason, since: moment }).optional(),
});
const storedHistory = z.record(z.string(), z.unknown());
const factName = z.enum(FACT_NAMES);
const ledgerEntry = z.object({
  kind: z.enum(ALARM_KINDS),
  after: value,
  facts: z.array(factName),
  firstSeen: moment,
  orderId: z.string().optional(),
});
const knownLedgerEntry = z.object({ kind: z.enum(ALARM_KINDS), facts: z.array(factName) });

/** @throws ZodError when the JSON is no history */
export function readHistory(stored: unknown): NameHistory {
  const kept = storedHistory.parse(stored);
  const history: { [Name in FactName]?: KnownFact } = {};
  for (const fact of FACT_NAMES) {
    if (kept[fact] === undefined) continue;
    const { current, candidate, past, unseen } = knownFact.parse(kept[fact]);
    history[fact] = { current, candidate, past, unseen };
  }
  return history;
}

/** @throws ZodError when the JSON is no ledger */
export function readLedger(stored: unknown): LedgerEntry[] {
  return z
    .array(z.unknown())
    .parse(stored)
    .filter((entry) => knownLedgerEntry.safeParse(entry).success)
    .map((entry) => {
      const { kind, after, facts, firstSeen, orderId } = ledgerEntry.parse(entry);
      return { kind, after, facts, firstSeen, orderId };
    });
}

const certainty = z.enum(['yes', 'no', 'unknown']);
const impact = z.object({
  task: z.enum(IMPACT_TASKS),
  seenAt: moment,
  items: z.array(impactItem),
  isInUse: certainty,
  areNewNameserversReady: certainty.optional(),
});

/**
 * The impact with which an order was asked for.
 * @returns undefined when it cannot be read; the whole impact then counts as new
 */
export function readImpact(stored: unknown): Impact | undefined {
  const read = impact.safeParse(stored).data;
  return read && { ...read, areNewNameserversReady: read.areNewNameserversReady };
}
