import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import type { PresetStore } from '../names/ports.ts';
import { PRESET_KINDS, type Preset, type PresetContent } from '../names/presets.ts';
import { exclusiveChanges, writeEvents } from './changes.ts';
import { type Database, type Transaction, wrapStore } from './database.ts';

const presetRowsSchema = z.array(
  z.object({
    id: z.string(),
    name: z.string(),
    kind: z.enum(PRESET_KINDS),
    fields: z.record(z.string(), z.string()),
  }),
);

/** @throws {StoreError} from every method if the database fails */
export function createPresetStore({ prisma }: Database, teamId: string): PresetStore {
  const readPresets = async (tx: Transaction): Promise<readonly Preset[]> => {
    const presets = presetRowsSchema.parse(
      await tx.preset.findMany({ where: { teamId }, orderBy: { id: 'asc' } }),
    );
    return presets.toSorted((a, b) => (a.name.toLowerCase() < b.name.toLowerCase() ? -1 : 1));
  };

  /** Changes run one at a time, so that the log has the value before each change. */
  const exclusively = exclusiveChanges(prisma, `presets ${teamId}`);

  const log = (
    tx: Transaction,
    before: PresetContent | undefined,
    after: PresetContent | undefined,
    actor: string,
    at: Date,
  ) => {
    const toLoggedValues = (preset: PresetContent | undefined) =>
      preset && { name: preset.name, kind: preset.kind, ...preset.fields };
    const subject = { kind: 'preset', id: after?.name ?? before?.name ?? '' } as const;
    const changed = { before: toLoggedValues(before), after: toLoggedValues(after) };
    return writeEvents(tx, [{ kind: 'preset_changed', subject, ...changed, actor, at }], teamId);
  };

  const toColumns = ({ name, kind, fields }: PresetContent, by: string, at: Date) => ({
    ...{ name, kind, fields },
    updatedBy: by,
    updatedAt: at,
  });

  const isTaken = (presets: readonly Preset[], name: string, id?: string) =>
    presets.some((preset) => preset.id !== id && preset.name.toLowerCase() === name.toLowerCase());

  return wrapStore('presets', {
    list: () => readPresets(prisma),

    add: (preset, by, at) =>
      exclusively(async (tx) => {
        if (isTaken(await readPresets(tx), preset.name)) return 'taken';
        await tx.preset.create({ data: { id: randomUUID(), teamId, ...toColumns(preset, by, at) } });
        await log(tx, undefined, preset, by, at);
        return 'saved';
      }),

    replace: (id, preset, by, at) =>
      exclusively(async (tx) => {
        const presets = await readPresets(tx);
        const before = presets.find((each) => each.id === id);
        if (before === undefined) return 'gone';
        if (isTaken(presets, preset.name, id)) return 'taken';
        await tx.preset.update({ where: { id }, data: toColumns(preset, by, at) });
        await log(tx, before, preset, by, at);
        return 'saved';
      }),

    remove: (id, by, at) =>
      exclusively(async (tx) => {
        const before = (await readPresets(tx)).find((each) => each.id === id);
        if (before === undefined) return undefined;
        await tx.preset.delete({ where: { id } });
        await log(tx, before, undefined, by, at);
        return before;
      }),
  });
}
