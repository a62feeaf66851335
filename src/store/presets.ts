import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import type { PresetStore } from '../names/ports.ts';
import { PRESET_KINDS, type Preset, type PresetContent } from '../names/presets.ts';
import { type Database, Prisma, type RunStatement, withStoreError } from './database.ts';
import { insertEvents } from './events.ts';

const presetRows = z.array(
  z.object({
    id: z.string(),
    name: z.string(),
    kind: z.enum(PRESET_KINDS),
    fields: z.record(z.string(), z.string()),
  }),
);

/** Named sets of contacts and nameservers, in PostgreSQL. @throws {StoreError} from every method, when the database fails */
export function createPresetStore(database: Database, teamId: string): PresetStore {
  const read = async (run: RunStatement): Promise<readonly Preset[]> =>
    presetRows.parse(
      await run(
        Prisma.sql`SELECT id, name, kind, fields FROM presets WHERE team_id = ${teamId} ORDER BY lower(name), id`,
      ),
    );

  /** One change at a time, so that the log has what stood there before. */
  const exclusively = <T>(
    what: string,
    work: (tx: RunStatement, presets: readonly Preset[]) => Promise<T>,
  ): Promise<T> =>
    withStoreError(what, () =>
      database.transaction(async (tx) => {
        await tx(Prisma.sql`SELECT pg_advisory_xact_lock(hashtextextended(${`presets ${teamId}`}, 0))`);
        return work(tx, await read(tx));
      }),
    );

  const log = (
    tx: RunStatement,
    before: PresetContent | undefined,
    after: PresetContent | undefined,
    by: string,
    at: Date,
  ) =>
    tx(
      insertEvents(
        [
          {
            kind: 'preset_changed',
            subject: { kind: 'preset', id: after?.name ?? before?.name ?? '' },
            before: before && { name: before.name, kind: before.kind, ...before.fields },
            after: after && { name: after.name, kind: after.kind, ...after.fields },
            actor: by,
            at,
          },
        ],
        { teamId },
      ),
    );

  const isTaken = (presets: readonly Preset[], name: string, id?: string) =>
    presets.some((preset) => preset.id !== id && preset.name.toLowerCase() === name.toLowerCase());

  return {
    list: () => withStoreError('reading presets', () => read(database.run)),

    add: (preset, by, at) =>
      exclusively('adding a preset', async (tx, presets) => {
        if (isTaken(presets, preset.name)) return 'taken';
        await tx(Prisma.sql`
          INSERT INTO presets (id, team_id, name, kind, fields, updated_by, updated_at)
          VALUES (${randomUUID()}, ${teamId}, ${preset.name}, ${preset.kind}, ${JSON.stringify(preset.fields)}::jsonb,
            ${by}, ${at}::timestamptz)`);
        await log(tx, undefined, preset, by, at);
        return 'saved';
      }),

    replace: (id, preset, by, at) =>
      exclusively('changing a preset', async (tx, presets) => {
        const before = presets.find((each) => each.id === id);
        if (before === undefined) return 'gone';
        if (isTaken(presets, preset.name, id)) return 'taken';
        await tx(Prisma.sql`
          UPDATE presets SET name = ${preset.name}, kind = ${preset.kind}, fields = ${JSON.stringify(preset.fields)}::jsonb,
            updated_by = ${by}, updated_at = ${at}::timestamptz
          WHERE team_id = ${teamId} AND id = ${id}`);
        await log(tx, before, preset, by, at);
        return 'saved';
      }),

    remove: (id, by, at) =>
      exclusively('taking a preset away', async (tx, presets) => {
        const before = presets.find((each) => each.id === id);
        if (before === undefined) return undefined;
        await tx(Prisma.sql`DELETE FROM presets WHERE team_id = ${teamId} AND id = ${id}`);
        await log(tx, before, undefined, by, at);
        return before;
      }),
  };
}
