import { z } from 'zod';
import type { SettingChange, SettingsStore } from '../config/settings.ts';
import { shareRead } from './batch.ts';
import { acquireAdvisoryLock, type ChangeAuthor, createExclusiveRunner, writeEvents } from './changes.ts';
import { type Database, type Transaction, wrapStore } from './database.ts';

const LOCK_NAME = 'settings';

async function writeChanges(
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

/** Returns all settings as text, by name, based on the saved ones. */
export type SavedSettingsFormatter = (
  saved: Readonly<Record<string, unknown>>,
) => Readonly<Record<string, string>>;

export const proposedSettingsSchema = z.array(
  z.object({ name: z.string(), before: z.string(), after: z.string() }),
);

async function readCurrentValues(
  tx: Transaction,
  formatSavedSettings: SavedSettingsFormatter,
  changes: readonly SettingChange[],
) {
  const rows = await tx.setting.findMany({ where: { key: { in: changes.map(({ name }) => name) } } });
  const current = formatSavedSettings(Object.fromEntries(rows.map(({ key, value }) => [key, value])));
  return changes.map((change) => ({ ...change, before: current[change.name] ?? '' }));
}

/** Applies a proposal if the settings haven't changed since it was made. */
export async function applySettings(
  tx: Transaction,
  formatSavedSettings: SavedSettingsFormatter,
  changes: readonly SettingChange[],
  author: Required<ChangeAuthor>,
): Promise<'applied' | 'changed'> {
  await acquireAdvisoryLock(tx, LOCK_NAME);
  const current = await readCurrentValues(tx, formatSavedSettings, changes);
  if (changes.some(({ before }, index) => current[index]?.before !== before)) return 'changed';
  await writeChanges(tx, changes, author);
  return 'applied';
}

/** @returns the changes that still have an effect, with their current `before`; undefined if none do */
export async function rebaseSettings(
  tx: Transaction,
  formatSavedSettings: SavedSettingsFormatter,
  changes: readonly SettingChange[],
): Promise<readonly SettingChange[] | undefined> {
  const remainingChanges = (await readCurrentValues(tx, formatSavedSettings, changes)).filter(
    ({ before, after }) => before !== after,
  );
  return remainingChanges.length === 0 ? undefined : remainingChanges;
}

export function createSettingsStore({ prisma }: Database): SettingsStore {
  const runExclusively = createExclusiveRunner(prisma, LOCK_NAME);

  return wrapStore('settings', {
    loadAll: shareRead(async () => {
      const rows = await prisma.setting.findMany();
      return Object.fromEntries(rows.map(({ key, value }) => [key, value]));
    }),

    save: (changes, by, at) => runExclusively((tx) => writeChanges(tx, changes, { by, at })),
  });
}
