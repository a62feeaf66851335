import { z } from 'zod';
import type { SettingChange, SettingsStore } from '../config/settings.ts';
import { shareRead } from './batch.ts';
import { type ChangeAuthor, exclusiveChanges, lockChanges, writeEvents } from './changes.ts';
import { type Database, type Transaction, wrapStore } from './database.ts';

const LOCK = 'settings';

async function writeChanges(
  tx: Transaction,
  changes: readonly SettingChange[],
  { by, confirmedBy, at }: ChangeAuthor,
): Promise<void> {
  for (const { name, after } of changes) {
    const saved = { value: after, updatedBy: by, updatedAt: at };
    await tx.setting.upsert({ where: { key: name }, create: { key: name, ...saved }, update: saved });
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
export type FormatSavedSettings = (
  saved: Readonly<Record<string, unknown>>,
) => Readonly<Record<string, string>>;

export const proposedSettingsSchema = z.array(
  z.object({ name: z.string(), before: z.string(), after: z.string() }),
);

async function readCurrentValues(
  tx: Transaction,
  formatSavedSettings: FormatSavedSettings,
  changes: readonly SettingChange[],
) {
  const rows = await tx.setting.findMany({ where: { key: { in: changes.map(({ name }) => name) } } });
  const current = formatSavedSettings(Object.fromEntries(rows.map(({ key, value }) => [key, value])));
  return changes.map((each) => ({ ...each, before: current[each.name] ?? '' }));
}

/** Applies a proposal if the settings haven't changed since it was made. */
export async function applySettings(
  tx: Transaction,
  formatSavedSettings: FormatSavedSettings,
  changes: readonly SettingChange[],
  author: Required<ChangeAuthor>,
): Promise<'applied' | 'changed'> {
  await lockChanges(tx, LOCK);
  const current = await readCurrentValues(tx, formatSavedSettings, changes);
  if (changes.some(({ before }, index) => current[index]?.before !== before)) return 'changed';
  await writeChanges(tx, changes, author);
  return 'applied';
}

/** @returns the remaining changes of a proposal; undefined if none remain */
export async function rebaseSettings(
  tx: Transaction,
  formatSavedSettings: FormatSavedSettings,
  changes: readonly SettingChange[],
): Promise<readonly SettingChange[] | undefined> {
  const remaining = (await readCurrentValues(tx, formatSavedSettings, changes)).filter(
    ({ before, after }) => before !== after,
  );
  return remaining.length === 0 ? undefined : remaining;
}

/** Settings that admins saved, and who changed them. */
export function createSettingsStore({ prisma }: Database): SettingsStore {
  const readAll = shareRead(async () => {
    const rows = await prisma.setting.findMany();
    return Object.fromEntries(rows.map(({ key, value }) => [key, value]));
  });

  const exclusively = exclusiveChanges(prisma, LOCK);

  return wrapStore('settings', {
    loadAll: () => readAll(),

    save: (changes, by, at) => exclusively((tx) => writeChanges(tx, changes, { by, at })),
  });
}
