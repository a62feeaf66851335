import { z } from 'zod';
import type { SettingChange, SettingsStore } from '../config/settings.ts';
import { createSharedRead } from './batch.ts';
import { acquireAdvisoryLock, type ChangeAuthor, createExclusiveRunner, writeEvents } from './changes.ts';
import { type Database, type Transaction, wrapStore } from './database.ts';

const LOCK_NAME = 'settings';

async function writeSettingChanges(
  tx: Transaction,
  changes: readonly SettingChange[],
  { by, confirmedBy, at }: ChangeAuthor,
): Promise<void> {
  for (const { name, after } of changes) {
    const columns = { value: after, updatedBy: by, updatedAt: at };
    await tx.setting.upsert({ where: { key: name }, create: { key: name, ...columns }, update: columns });
  }
  await writeEvents(
    tx,
    changes.map(({ name, before, after }) => ({
      kind: 'setting_changed',
      subject: { kind: 'setting', id: name },
      actor: by,
      at,
      before,
      after,
      confirmedBy,
    })),
  );
}

/** Formats the values of all settings, by name. Unsaved settings have their default. */
export type SavedSettingsFormatter = (
  savedSettings: Readonly<Record<string, unknown>>,
) => Readonly<Record<string, string>>;

export const proposedSettingsSchema = z.array(
  z.object({ name: z.string(), before: z.string(), after: z.string() }),
);

async function readRebasedChanges(
  tx: Transaction,
  formatSavedSettings: SavedSettingsFormatter,
  changes: readonly SettingChange[],
) {
  const rows = await tx.setting.findMany({ where: { key: { in: changes.map(({ name }) => name) } } });
  const currentValues = formatSavedSettings(Object.fromEntries(rows.map(({ key, value }) => [key, value])));
  return changes.map((change) => ({ ...change, before: currentValues[change.name] ?? '' }));
}

/** Applies a proposal if the settings haven't changed since the proposal was made. */
export async function applySettings(
  tx: Transaction,
  formatSavedSettings: SavedSettingsFormatter,
  changes: readonly SettingChange[],
  author: Required<ChangeAuthor>,
): Promise<'applied' | 'changed'> {
  await acquireAdvisoryLock(tx, LOCK_NAME);
  const rebasedChanges = await readRebasedChanges(tx, formatSavedSettings, changes);
  if (changes.some(({ before }, index) => rebasedChanges[index]?.before !== before)) return 'changed';
  await writeSettingChanges(tx, changes, author);
  return 'applied';
}

/** @returns the changes that still have an effect, with their current `before`; undefined if none do */
export async function rebaseSettings(
  tx: Transaction,
  formatSavedSettings: SavedSettingsFormatter,
  changes: readonly SettingChange[],
): Promise<readonly SettingChange[] | undefined> {
  const remainingChanges = (await readRebasedChanges(tx, formatSavedSettings, changes)).filter(
    ({ before, after }) => before !== after,
  );
  return remainingChanges.length === 0 ? undefined : remainingChanges;
}

export function createSettingsStore({ prisma }: Database): SettingsStore {
  const runExclusively = createExclusiveRunner(prisma, LOCK_NAME);

  return wrapStore('settings', {
    loadAll: createSharedRead(async () => {
      const rows = await prisma.setting.findMany();
      return Object.fromEntries(rows.map(({ key, value }) => [key, value]));
    }),

    save: (changes, by, at) => runExclusively((tx) => writeSettingChanges(tx, changes, { by, at })),
  });
}
