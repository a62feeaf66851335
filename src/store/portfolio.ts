import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { gunzip, gzip } from 'node:zlib';
import { z } from 'zod';
import type { TeamEvent } from '../ledger/events.ts';
import { iterateSlices } from '../lib/collections.ts';
import { DAY_MS } from '../lib/duration.ts';
import { type ImportRow, importRowSchema } from '../names/details-import.ts';
import type { NameLimit, ProposedNameChanges } from '../names/portfolio.ts';
import {
  type ChangedName,
  type DetailsChange,
  type EditedName,
  GUARDED_TAG,
  isSameDetails,
  listEditedNames,
  MAX_GUARDED_NAMES,
  MAX_WATCHED_NAMES,
  type NameDetails,
  type ReminderDecision,
  rebaseChange,
} from '../names/portfolio.ts';
import type { ImportPlan, PortfolioStore, ReportProgress } from '../names/ports.ts';
import { messagePlaceSchema } from '../outbox/notifications.ts';
import { assignColumns, insertRows, optional, optionalText } from './columns.ts';
import { type Database, Prisma, type RunStatement, wrapStore } from './database.ts';
import { CLEARED_LAPSE, CLEARED_SNOOZE } from './domain-rows.ts';
import { importNames, type NameChangeAuthor, NO_REMINDER, removeDomain } from './domain-statements.ts';
import { insertEvents, insertEventsAndNotify } from './events.ts';
import { upsertPlans } from './notifications.ts';
import {
  assessedNameRow,
  detailsRow,
  findingChangeRowsSchema,
  markOwnerDeparture,
  ownerRowsSchema,
  pageRow,
  SELECT_OWNERS,
  selectAssessedNames,
  selectFindingChanges,
  selectPage,
  selectZoneCounts,
  zoneRowsSchema,
} from './portfolio-statements.ts';

export function createPortfolioStore(database: Database, teamId: string): PortfolioStore {
  const { run, prisma } = database;

  const findMany = (names: readonly string[]) => readDetails(run, names);

  return wrapStore('portfolio', {
    findMany,
    find: async (name) => (await findMany([name])).get(name),

    async findTags(names) {
      const details = await findMany(names);
      return new Map(names.map((name) => [name, details.get(name)?.tags ?? []]));
    },

    write: async ({ changes }, by, at, planHash, reportProgress) => {
      try {
        return await database.transaction(async (tx) => {
          if (planHash !== undefined && !(await consumeImportPlan(tx, teamId, planHash))) return 'gone';
          const outcome = await writeChanges(tx, teamId, changes, { actor: by, at }, reportProgress);
          // The rollback keeps the import plan.
          if (outcome !== 'written') throw new RollbackError(outcome);
          return outcome;
        });
      } catch (error) {
        if (error instanceof RollbackError) return error.reason;
        throw error;
      }
    },

    planImport: (rows, by, at, reportProgress) =>
      database.transaction((tx) => buildAndSaveImportPlan(tx, teamId, rows, by, at, reportProgress)),

    findImportPlan: (hash, by, at, reportProgress) =>
      database.transaction(async (tx) => {
        const rows = await readImportRows(tx, teamId, hash);
        if (rows === undefined) return 'gone';
        const plan = await buildImportPlan(tx, rows, () => undefined);
        if (plan.hash === hash) return plan;
        await consumeImportPlan(tx, teamId, hash);
        return { stale: await buildAndSaveImportPlan(tx, teamId, rows, by, at, reportProgress) };
      }),

    listPage: async (query) => pageRow.read(await run(selectPage(query))),

    listZones: async (query) => zoneRowsSchema.parse(await run(selectZoneCounts(query))),

    listAssessedNames: async (query) => assessedNameRow.read(await run(selectAssessedNames(query, teamId))),

    listFindingChanges: async (from, to) =>
      findingChangeRowsSchema.parse(await run(selectFindingChanges(from, to))),

    listOwners: async () => ownerRowsSchema.parse(await run(SELECT_OWNERS)),

    recordOwnerDeparture: (userId, at) =>
      database.transaction(async (tx) => {
        if (nameRowsSchema.parse(await tx(markOwnerDeparture(userId, at))).length === 0) return;
        const subject = { subjectKind: 'owner_left', subjectId: `${userId} ${at.toISOString()}` } as const;
        const planNotification = { teamId, ...subject, purpose: 'plan', version: 1, dueAt: at };
        await insertRows(tx, 'notifications', [planNotification], Prisma.sql`ON CONFLICT DO NOTHING`);
      }),

    recordOwnerReturn: async (userId) => {
      await prisma.domain.updateMany({
        where: { ownerId: userId, ownerLeftAt: { not: null } },
        data: { ownerLeftAt: null },
      });
    },

    listOwnRegistrars: async () =>
      registrarRowsSchema.parse(await run(SELECT_OWN_REGISTRARS)).map(({ registrar }) => registrar),
  });
}

const registrarRowsSchema = z.array(z.object({ registrar: z.string() }));
const SELECT_OWN_REGISTRARS = Prisma.sql`
  SELECT DISTINCT trusted ->> 'registrar' AS registrar FROM domains
  WHERE registered_by IS NOT NULL AND trusted ->> 'registrar' IS NOT NULL`;

class RollbackError extends Error {
  readonly reason: WriteFailure;
  constructor(reason: WriteFailure) {
    super(reason);
    this.reason = reason;
  }
}
type WriteFailure = 'changed' | NameLimit;

const SLACK_USER_ID_PATTERN = /[UW][A-Z0-9]{2,}/g;
const compress = promisify(gzip);
const decompress = promisify(gunzip);

const detailsSchema = z
  .object({ owner: z.string(), tags: z.array(z.string()), channel: z.string(), note: z.string() })
  .partial()
  .transform(({ owner, tags = [], channel, note }): NameDetails => ({ owner, tags, channel, note }));
const changedDateSchema = z.object({
  before: z.object({ at: z.coerce.date(), by: z.string().optional() }).optional(),
  after: z.coerce.date(),
});
const changedNamesSchema = z.array(
  z
    .object({
      name: z.string(),
      before: detailsSchema,
      after: detailsSchema.nullable(),
      date: changedDateSchema.exactOptional(),
      decision: z
        .discriminatedUnion('kind', [
          z.object({
            kind: z.literal('lapse_confirmed'),
            reason: z.string(),
            askedBy: z.string(),
            origin: messagePlaceSchema.optional(),
          }),
          z.object({
            kind: z.literal('name_renewed'),
            until: z.coerce.date(),
            staleUntil: z.coerce.date().optional(),
            reason: z.string().optional(),
            origin: messagePlaceSchema.optional(),
          }),
        ])
        .exactOptional(),
    })
    .transform(({ after, ...change }): ChangedName => ({ ...change, after: after ?? undefined })),
);
/**
 * Compressed JSON lines, one per name. Prisma would block the event loop if it wrote 20,000 names as JSON or
 * text.
 */
export const proposedNameChangesSchema: z.ZodType<ProposedNameChanges> = z.object({
  names: z.base64().transform(async (compressedNames) => {
    const text = (await decompress(Buffer.from(compressedNames, 'base64'))).toString();
    const names: ChangedName[] = [];
    for await (const slice of iterateSlices(text.split('\n')))
      names.push(...changedNamesSchema.parse(slice.map((line): unknown => JSON.parse(line))));
    return names;
  }),
});

export async function toStorableNameChanges({ names }: ProposedNameChanges) {
  const lines: string[] = [];
  for await (const slice of iterateSlices(names))
    lines.push(...slice.map(({ after = null, ...change }) => JSON.stringify({ ...change, after })));
  const personIds = new Set<string>();
  for await (const slice of iterateSlices(lines))
    for (const line of slice) for (const id of line.match(SLACK_USER_ID_PATTERN) ?? []) personIds.add(id);
  // People's ids are also stored uncompressed, so that they can be found when a person is forgotten.
  return { names: (await compress(lines.join('\n'))).toString('base64'), people: [...personIds] };
}

/** Applies a proposal if the names haven't changed since the proposal was made. */
export async function applyNameChanges(
  tx: RunStatement,
  teamId: string,
  { names }: ProposedNameChanges,
  author: NameChangeAuthor,
): Promise<'applied' | WriteFailure> {
  const outcome = await writeChanges(tx, teamId, names, author);
  return outcome === 'written' ? 'applied' : outcome;
}

/** @returns the changes that still have an effect, based on the current details; undefined if none do */
export async function rebaseNameChanges(
  tx: RunStatement,
  { names }: ProposedNameChanges,
): Promise<ProposedNameChanges | undefined> {
  const details = await readDetails(
    tx,
    names.map(({ name }) => name),
  );
  const remainingChanges: ChangedName[] = [];
  for (const change of names) {
    const rebasedChange = rebaseChange(change, details.get(change.name));
    const isObsolete =
      rebasedChange?.decision !== undefined &&
      (await countNames(tx, buildDecisionCondition(rebasedChange.name, rebasedChange.decision))) === 0;
    if (rebasedChange !== undefined && !isObsolete) remainingChanges.push(rebasedChange);
  }
  return remainingChanges.length === 0 ? undefined : { names: remainingChanges };
}

/** Plans that aren't applied are deleted after this time. */
const IMPORT_PLAN_LIFETIME_MS = DAY_MS;
const importRowsSchema = z.array(z.object({ row: importRowSchema }));
const ROWS_PER_READ = 1_000;

/** @returns undefined if the rows were deleted */
async function readImportRows(
  tx: RunStatement,
  teamId: string,
  hash: string,
): Promise<readonly ImportRow[] | undefined> {
  const planClause = Prisma.sql`FROM names_imports WHERE team_id = ${teamId} AND hash = ${hash}`;
  const [plan] = z
    .array(z.object({ count: z.number() }))
    .parse(await tx(Prisma.sql`SELECT jsonb_array_length(rows) AS count ${planClause} FOR UPDATE`));
  if (plan === undefined) return undefined;
  const rows: ImportRow[] = [];
  for (let start = 0; start < plan.count; start += ROWS_PER_READ) {
    const page = await tx(Prisma.sql`
      SELECT value AS row FROM (SELECT rows ${planClause}) kept, jsonb_array_elements(kept.rows) WITH ORDINALITY AS elements (value, n)
      WHERE n > ${start}::int AND n <= ${start + ROWS_PER_READ}::int ORDER BY n`);
    rows.push(...importRowsSchema.parse(page).map(({ row }) => row));
  }
  return rows;
}

/** Deletes an import plan, so that it is applied only once. Returns whether the plan existed. */
async function consumeImportPlan(tx: RunStatement, teamId: string, hash: string): Promise<boolean> {
  const rows = await tx(
    Prisma.sql`DELETE FROM names_imports WHERE team_id = ${teamId} AND hash = ${hash} RETURNING hash`,
  );
  return z.array(z.unknown()).parse(rows).length > 0;
}

/** Locks the names and plans their changes. */
async function buildImportPlan(
  tx: RunStatement,
  rows: readonly ImportRow[],
  reportProgress: ReportProgress,
): Promise<ImportPlan> {
  const changesByName = new Map(rows.map(({ name, change }) => [name, change]));
  const watchedNames = await lockWatchedNames(tx, [...changesByName.keys()]);
  const hash = createHash('sha256');
  const changedNames: EditedName[] = [];
  let doneCount = 0;
  for await (const slice of iterateSlices(watchedNames)) {
    const editedNames = listEditedNames(await readDetails(tx, slice), changesByName);
    for (const { name, before, after } of editedNames)
      hash.update(JSON.stringify([name, toLoggedDetails(before), toLoggedDetails(after)]));
    changedNames.push(...editedNames);
    doneCount += slice.length;
    reportProgress(doneCount, watchedNames.length);
  }
  const watchedNameSet = new Set(watchedNames);
  return {
    hash: hash.digest('hex'),
    changedNames,
    unchangedCount: watchedNames.length - changedNames.length,
    unwatchedNames: [...changesByName.keys()].filter((name) => !watchedNameSet.has(name)),
  };
}

async function buildAndSaveImportPlan(
  tx: RunStatement,
  teamId: string,
  rows: readonly ImportRow[],
  by: string,
  at: Date,
  reportProgress: ReportProgress,
): Promise<ImportPlan> {
  const plan = await buildImportPlan(tx, rows, reportProgress);
  await tx(
    Prisma.sql`DELETE FROM names_imports WHERE team_id = ${teamId} AND created_at < ${new Date(at.getTime() - IMPORT_PLAN_LIFETIME_MS)}`,
  );
  if (plan.changedNames.length > 0) {
    await tx(Prisma.sql`
      INSERT INTO names_imports (team_id, hash, rows, by, created_at)
      VALUES (${teamId}, ${plan.hash}, ${JSON.stringify(rows)}::jsonb, ${by}, ${at}::timestamptz)
      ON CONFLICT (team_id, hash) DO UPDATE SET rows = excluded.rows, by = excluded.by, created_at = excluded.created_at`);
  }
  return plan;
}

const nameRowsSchema = z.array(z.object({ name: z.string() }));

/**
 * Locks the names that are watched, in alphabetical order, so that transactions can't deadlock.
 * @returns the locked names, sorted
 */
async function lockWatchedNames(tx: RunStatement, names: readonly string[]): Promise<readonly string[]> {
  const rows = await tx(
    Prisma.sql`SELECT name FROM domains WHERE name = ANY (${[...names]}::text[]) ORDER BY name FOR UPDATE`,
  );
  return nameRowsSchema.parse(rows).map(({ name }) => name);
}

async function readDetails(
  run: RunStatement,
  names: readonly string[],
): Promise<ReadonlyMap<string, NameDetails>> {
  const rows = await run(Prisma.sql`
    SELECT ${detailsRow.columns} FROM domains d WHERE d.name = ANY (${[...names]}::text[]) ORDER BY d.name`);
  return new Map(detailsRow.read(rows).map(({ name, ...details }) => [name, details]));
}

/** Writes all or none of the changes. People's changes to protected fields all go through this function. */
async function writeChanges(
  tx: RunStatement,
  teamId: string,
  changes: readonly ChangedName[],
  author: NameChangeAuthor,
  reportProgress: ReportProgress = () => undefined,
): Promise<'written' | WriteFailure> {
  const newlyGuardedCount = changes.filter(
    ({ before, after }) => isGuarded(after) && !isGuarded(before),
  ).length;
  const addedCount = changes.filter(({ isNew }) => isNew).length;
  // Additions run one at a time, so that each counts the names and tags that earlier ones added.
  if (newlyGuardedCount + addedCount > 0)
    await tx(Prisma.sql`SELECT 1 FROM (SELECT pg_advisory_xact_lock(hashtextextended('watched', 0))) locked`);
  await lockWatchedNames(
    tx,
    changes.map(({ name }) => name),
  );
  for await (const slice of iterateSlices(changes))
    if (!(await areNamesUnchanged(tx, slice))) return 'changed';
  const newlyUnguardedCount = changes.filter(
    ({ before, after }) => isGuarded(before) && !isGuarded(after),
  ).length;
  if (
    newlyGuardedCount > 0 &&
    (await countNames(tx, IS_GUARDED)) + newlyGuardedCount - newlyUnguardedCount > MAX_GUARDED_NAMES
  )
    return 'too_many_guarded';
  if (addedCount > 0 && (await countNames(tx, Prisma.sql`TRUE`)) + addedCount > MAX_WATCHED_NAMES)
    return 'list_full';
  let doneCount = 0;
  for await (const slice of iterateSlices(changes)) {
    const editedNames = slice.flatMap(({ after, ...change }) =>
      after === undefined || isSameDetails(change.before, after) ? [] : { ...change, after },
    );
    await writeDetails(tx, teamId, editedNames, author);
    for (const { name } of slice.filter(({ after }) => after === undefined)) {
      await tx(removeDomain(name));
      const subject = { kind: 'name', id: name } as const;
      await insertEventsAndNotify(tx, [{ kind: 'name_unwatched', subject, ...author }]);
    }
    const namesToImport = slice.flatMap(({ name, isNew, date }) =>
      date === undefined ? (isNew ? { name } : []) : { name, expiresAt: date.after },
    );
    if (namesToImport.length > 0) await tx(importNames(namesToImport, author));
    for (const { name, decision } of slice)
      if (decision !== undefined) await writeDecision(tx, teamId, { name, decision }, author);
    doneCount += slice.length;
    reportProgress(doneCount, changes.length);
  }
  const reroutedEvent = buildReroutedEvent(changes, author);
  if (reroutedEvent !== undefined) await insertEventsAndNotify(tx, [reroutedEvent]);
  return 'written';
}

function isGuarded(details: NameDetails | undefined): boolean {
  return details?.tags.includes(GUARDED_TAG) === true;
}

const countRowsSchema = z.array(z.object({ count: z.number() }));

const IS_GUARDED = Prisma.sql`tags @> ARRAY[${GUARDED_TAG}]`;

async function countNames(tx: RunStatement, where: Prisma.Sql): Promise<number> {
  const rows = await tx(Prisma.sql`SELECT count(*)::int AS count FROM domains WHERE ${where}`);
  return countRowsSchema.parse(rows)[0]?.count ?? 0;
}

const dateRowsSchema = z.array(z.object({ name: z.string(), at: optional(z.date()), by: optionalText }));

/** Whether the names haven't changed since the changes were decided. */
async function areNamesUnchanged(tx: RunStatement, changes: readonly ChangedName[]): Promise<boolean> {
  const names = changes.map(({ name }) => name);
  const details = await readDetails(tx, names);
  const hasSameDetails = ({ name, before, isNew }: ChangedName) => {
    const current = details.get(name);
    return isNew ? current === undefined : current !== undefined && isSameDetails(current, before);
  };
  if (!changes.every(hasSameDetails)) return false;
  for (const { name, decision } of changes)
    if (decision !== undefined && (await countNames(tx, buildDecisionCondition(name, decision))) === 0)
      return false;
  const datedChanges = changes.filter(({ isNew, date }) => !isNew && date !== undefined);
  if (datedChanges.length === 0) return true;
  const rows = dateRowsSchema.parse(
    await tx(Prisma.sql`
      SELECT name, expires_at AS at, expiry_given_by AS by FROM domains
      WHERE name = ANY (${names}::text[]) AND (expiry_source IS NULL OR expiry_source IN ('person', 'whois'))`),
  );
  const datesByName = new Map(rows.map((row) => [row.name, row]));
  return datedChanges.every(({ name, date }) => {
    const current = datesByName.get(name);
    const isSameDate = current?.at?.getTime() === date?.before?.at.getTime();
    return current !== undefined && isSameDate && current.by === date?.before?.by;
  });
}

/** Matches the name if the decision may be written. A lapse is confirmed only once, and only as requested. */
function buildDecisionCondition(name: string, decision: ReminderDecision): Prisma.Sql {
  const nameCondition = Prisma.sql`name = ${name}`;
  if (decision.kind === 'lapse_requested') return Prisma.sql`${nameCondition} AND lapse_confirmed_at IS NULL`;
  if (decision.kind !== 'lapse_confirmed') return nameCondition;
  return Prisma.sql`${nameCondition} AND lapse_confirmed_at IS NULL AND lapse_requested_by = ${decision.askedBy}
    AND lapse_reason = ${decision.reason}`;
}

/** Requests an update of the messages that ask the owner about a name. */
function refreshOwnerQuestion(teamId: string, name: string, at: Date): Prisma.Sql {
  return upsertPlans(Prisma.sql`
    SELECT ${teamId} AS team_id, 'owner_question' AS subject_kind, question ->> 'subject' AS subject_id, ${at}::timestamptz AS due_at
    FROM domains WHERE name = ${name} AND question IS NOT NULL`);
}

async function writeDecision(
  tx: RunStatement,
  teamId: string,
  { name, decision: { kind, ...decision } }: { readonly name: string; readonly decision: ReminderDecision },
  { actor: askedBy, confirmedBy, at }: NameChangeAuthor,
): Promise<void> {
  const by = confirmedBy ?? askedBy;
  const { staleUntil, subject, ...loggedFields } = { staleUntil: undefined, subject: undefined, ...decision };
  const until = 'until' in decision ? decision.until : null;
  const reason = 'reason' in decision ? (decision.reason ?? null) : null;
  const answer =
    'to' in decision
      ? { owner: decision.to, at, subject: decision.subject, from: by, note: decision.reason }
      : { kept: { by, at } };
  const clearedKeys = 'to' in decision ? ['kept', 'note'] : ['kept'];
  const question = Prisma.sql`(question - ${clearedKeys}::text[]) || ${JSON.stringify(answer)}::jsonb`;
  await tx(refreshOwnerQuestion(teamId, name, at));
  const fields = {
    name_watched: CLEARED_LAPSE,
    name_kept: { ...CLEARED_LAPSE, question },
    name_handed_over: { question },
    name_snoozed: { snoozedBy: by, snoozeReason: reason, snoozedUntil: until },
    name_renewed: {
      ...{ ...CLEARED_LAPSE, ...CLEARED_SNOOZE },
      ...{ doubt: null, remindedThreshold: NO_REMINDER, nextRegistryLookupAt: at },
      ...{ expiresAt: until, expirySource: 'person', expiryGivenBy: askedBy },
      ...{ renewedUntil: staleUntil ?? null, renewedAt: staleUntil === undefined ? null : at },
    },
    lapse_requested: { ...CLEARED_LAPSE, lapseReason: reason, lapseRequestedBy: by },
    lapse_confirmed: { lapseConfirmedBy: by, lapseConfirmedAt: at },
  }[kind];
  await tx(
    Prisma.sql`UPDATE domains SET ${assignColumns(fields)}, version = version + 1 WHERE name = ${name}`,
  );
  if (kind === 'name_handed_over') await tx(refreshOwnerQuestion(teamId, name, at));
  const proposerField = kind === 'name_renewed' && confirmedBy !== undefined ? { askedBy } : {};
  await insertEventsAndNotify(tx, [
    { ...loggedFields, ...proposerField, kind, actor: by, at, subject: { kind: 'name', id: name } },
  ]);
}

/**
 * Sets the details of a name after an order.
 * @param isNew whether the order added the name; new names aren't announced
 */
export async function setDetails(
  tx: RunStatement,
  name: string,
  change: DetailsChange,
  author: NameChangeAuthor,
  isNew: boolean,
): Promise<void> {
  const editedNames = listEditedNames(await readDetails(tx, [name]), new Map([[name, change]]));
  await writeDetails(tx, undefined, editedNames, author);
  const reroutedEvent = isNew ? undefined : buildReroutedEvent(editedNames, author);
  if (reroutedEvent !== undefined) await insertEventsAndNotify(tx, [reroutedEvent]);
}

async function writeDetails(
  tx: RunStatement,
  teamId: string | undefined,
  editedNames: readonly EditedName[],
  author: NameChangeAuthor,
): Promise<void> {
  if (editedNames.length === 0) return;
  // PostgreSQL requires inner arrays of equal length, so tags are joined by spaces, which tags can't contain.
  await tx(Prisma.sql`
    UPDATE domains d SET owner_id = NULLIF(given.owner, ''),
      owner_left_at = CASE WHEN d.owner_id = given.owner THEN d.owner_left_at END, channel_id = NULLIF(given.channel, ''),
      note = NULLIF(given.note, ''), tags = string_to_array(given.tags, ' ')
    FROM unnest(
      ${editedNames.map(({ name }) => name)}::text[], ${editedNames.map(({ after }) => after.owner ?? '')}::text[],
      ${editedNames.map(({ after }) => after.channel ?? '')}::text[], ${editedNames.map(({ after }) => after.note ?? '')}::text[],
      ${editedNames.map(({ after }) => after.tags.join(' '))}::text[]) AS given (name, owner, channel, note, tags)
    WHERE d.name = given.name`);
  const events = editedNames.map(({ name, before, after }) => ({
    kind: 'name_changed' as const,
    subject: { kind: 'name' as const, id: name },
    before: toLoggedDetails(before),
    after: toLoggedDetails(after),
    ...author,
  }));
  await insertEvents(tx, events, teamId);
}

function toLoggedDetails({ owner, tags, channel, note }: NameDetails): Readonly<Record<string, string>> {
  return {
    ...(owner === undefined ? {} : { owner }),
    ...(tags.length === 0 ? {} : { tags: tags.join(' ') }),
    ...(channel === undefined ? {} : { channel }),
    ...(note === undefined ? {} : { note }),
  };
}

/** Builds the event that announces new owners and channels. */
function buildReroutedEvent(
  changes: readonly ChangedName[],
  author: NameChangeAuthor,
): TeamEvent | undefined {
  const reroutedNames = changes.flatMap(({ name, before, after }) => {
    const isRerouted =
      after !== undefined && (before.owner !== after.owner || before.channel !== after.channel);
    return isRerouted ? [{ name, before: toRouting(before), after: toRouting(after) }] : [];
  });
  const [first] = reroutedNames;
  if (first === undefined) return undefined;
  return {
    kind: 'notices_rerouted',
    subject: { kind: 'name', id: first.name },
    count: reroutedNames.length,
    names: reroutedNames.slice(0, MAX_ANNOUNCED_NAMES),
    ...author,
  };
}

/** An announcement lists at most this many names, but its `count` includes all of them. */
const MAX_ANNOUNCED_NAMES = 10;

function toRouting({ owner, channel }: NameDetails) {
  return { ...(owner === undefined ? {} : { owner }), ...(channel === undefined ? {} : { channel }) };
}
