import { z } from 'zod';
import type { SettingChange, SettingsStore } from '../config/settings.ts';
import { shareRead } from './batch.ts';
import { exclusiveChanges, lockChanges, writeEvents } from './changes.ts';
import { type Database, storeOf, type Transaction } from './database.ts';

const LOCK = 'settings';

interface WhoChanges {
  readonly by: string;
  readonly confirmedBy?: string;
  readonly at: Date;
}

async function writeChanges(
  tx: Transaction,
  changes: readonly SettingChange[],
  { by, confirmedBy, at }: WhoChanges,
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

/** All settings as texts, by name, from the saved ones. */
export type SettingTexts = (saved: Readonly<Record<string, unknown>>) => Readonly<Record<string, string>>;

export const proposedSettings = z.array(
  z.object({ name: z.string(), before: z.string(), after: z.string() }),
);

async function rebased(tx: Transaction, textsOf: SettingTexts, changes: readonly SettingChange[]) {
  const rows = await tx.setting.findMany({ where: { key: { in: changes.map(({ name }) => name) } } });
  const now = textsOf(Object.fromEntries(rows.map(({ key, value }) => [key, value])));
  return changes.map((each) => ({ ...each, before: now[each.name] ?? '' }));
}

/** Applies a proposal if the settings are still as they were when it was made. */
export async function applySettings(
  tx: Transaction,
  textsOf: SettingTexts,
  changes: readonly SettingChange[],
  who: Required<WhoChanges>,
): Promise<'applied' | 'changed'> {
  await lockChanges(tx, LOCK);
  const now = await rebased(tx, textsOf, changes);
  if (changes.some(({ before }, index) => now[index]?.before !== before)) return 'changed';
  await writeChanges(tx, changes, who);
  return 'applied';
}

/** @returns the remaining changes of a proposal; undefined if none remain */
export async function rebasedSettings(
  tx: Transaction,
  textsOf: SettingTexts,
  changes: readonly SettingChange[],
): Promise<readonly SettingChange[] | undefined> {
  const left = (await rebased(tx, textsOf, changes)).filter(({ before, after }) => before !== after);
  return left.length === 0 ? undefined : left;
}

/** Settings that admins have saved, and who changed them. */
export function createSettingsStore({ prisma }: Database): SettingsStore {
  const readAll = shareRead(async () => {
    const rows = await prisma.setting.findMany();
    return Object.fromEntries(rows.map(({ key, value }) => [key, value]));
  });

  const exclusively = exclusiveChanges(prisma, LOCK);

  return storeOf('settings', {
    loadAll: () => readAll(),

    save: (changes, by, at) => exclusively((tx) => writeChanges(tx, changes, { by, at })),
  });
}
