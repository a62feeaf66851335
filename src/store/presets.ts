import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import type { PresetStore } from '../names/ports.ts';
import { PRESET_KINDS, type Preset, type PresetContent } from '../names/presets.ts';
import { createExclusiveRunner, writeEvents } from './changes.ts';
import { type Database, type Transaction, wrapStore } from './database.ts';

const presetRowsSchema = z.array(
  z.object({
    id: z.string(),
    name: z.string(),
    kind: z.enum(PRESET_KINDS),
    fields: z.record(z.string(), z.string()),
  }),
);

export function createPresetStore({ prisma }: Database, teamId: string): PresetStore {
  const readPresets = async (tx: Transaction): Promise<readonly Preset[]> => {
    const presets = presetRowsSchema.parse(
      await tx.preset.findMany({ where: { teamId }, orderBy: { id: 'asc' } }),
    );
    return presets.toSorted((a, b) => (a.name.toLowerCase() < b.name.toLowerCase() ? -1 : 1));
  };

  /** Changes run one at a time, so that the log has the value before each change. */
  const runExclusively = createExclusiveRunner(prisma, `presets ${teamId}`);

  const logChange = (
    tx: Transaction,
    before: PresetContent | undefined,
    after: PresetContent | undefined,
    actor: string,
    at: Date,
  ) => {
    const toLoggedValues = (preset: PresetContent | undefined) =>
      preset && { name: preset.name, kind: preset.kind, ...preset.fields };
    const subject = { kind: 'preset', id: after?.name ?? before?.name ?? '' } as const;
    const loggedValues = { before: toLoggedValues(before), after: toLoggedValues(after) };
    return writeEvents(tx, [{ kind: 'preset_changed', subject, ...loggedValues, actor, at }], teamId);
  };

  const toColumns = ({ name, kind, fields }: PresetContent, by: string, at: Date) => ({
    ...{ name, kind, fields },
    updatedBy: by,
    updatedAt: at,
  });

  const isNameTaken = (presets: readonly Preset[], name: string, excludedId?: string) =>
    presets.some((preset) => preset.id !== excludedId && preset.name.toLowerCase() === name.toLowerCase());

  return wrapStore('presets', {
    list: () => readPresets(prisma),

    add: (content, by, at) =>
      runExclusively(async (tx) => {
        if (isNameTaken(await readPresets(tx), content.name)) return 'taken';
        await tx.preset.create({ data: { id: randomUUID(), teamId, ...toColumns(content, by, at) } });
        await logChange(tx, undefined, content, by, at);
        return 'saved';
      }),

    replace: (id, content, by, at) =>
      runExclusively(async (tx) => {
        const presets = await readPresets(tx);
        const before = presets.find((preset) => preset.id === id);
        if (before === undefined) return 'gone';
        if (isNameTaken(presets, content.name, id)) return 'taken';
        await tx.preset.update({ where: { id }, data: toColumns(content, by, at) });
        await logChange(tx, before, content, by, at);
        return 'saved';
      }),

    remove: (id, by, at) =>
      runExclusively(async (tx) => {
        const before = (await readPresets(tx)).find((preset) => preset.id === id);
        if (before === undefined) return undefined;
        await tx.preset.delete({ where: { id } });
        await logChange(tx, before, undefined, by, at);
        return before;
      }),
  });
}
