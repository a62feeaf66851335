import { z } from 'zod';
import { WATCH_DECISIONS } from '../expiry/ports.ts';
import { ALARM_DECISIONS, type DecisionLog, type NameDecision } from '../names/ports.ts';
import { changeLines } from './changes.ts';
import { optional, optionalText } from './columns.ts';
import { type Database, named, Prisma, type Statement } from './database.ts';

/* The audit log of what people decided about names without an order. */

const line = z.object({
  id: z.bigint(),
  name: z.string(),
  kind: z.enum([...WATCH_DECISIONS, ...ALARM_DECISIONS]),
  by: z.string(),
  confirmedBy: optionalText,
  at: z.date(),
  until: optional(z.date()),
  reason: optionalText,
  alarm: optionalText,
});

/** Keeps a decision; it belongs into the transaction of what was decided. */
export function insertDecision(name: string, decision: Omit<NameDecision, 'name'>): Statement {
  const { kind, by, confirmedBy, at, until, reason, alarm } = decision;
  return named(
    'keep a decision',
    Prisma.sql`
      INSERT INTO name_decisions (name, kind, by, confirmed_by, at, until, reason, alarm)
      VALUES (${name}, ${kind}, ${by}, ${confirmedBy ?? null}, ${at}, ${until ?? null}, ${reason ?? null},
        ${alarm ?? null})`,
  );
}

/** The decisions of a team, in PostgreSQL. @throws {StoreError} when the database fails */
export function createDecisionLog({ prisma }: Database, teamId: string): DecisionLog {
  return {
    changes: (from, to) =>
      changeLines('reading what was decided about names', from, to, async (where, page) =>
        z.array(line).parse(await prisma.nameDecision.findMany({ where: { teamId, ...where }, ...page })),
      ),
  };
}
