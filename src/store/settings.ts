import { z } from 'zod';
import type { SettingChange, SettingsStore } from '../config/settings.ts';
import { shareRead } from './batch.ts';
import { exclusiveChanges, lockChanges, writeEvents } from './changes.ts';
import { type Database, storeOf, type Transaction } from './database.ts';
import type { PendingKind } from './pending-changes.ts';

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

/**
 * Changes of settings that wait for another admin.
 * @param textsOf all settings as texts, by name, from what is saved
 */
export function pendingSettings(
  textsOf: (saved: Readonly<Record<string, unknown>>) => Readonly<Record<string, string>>,
): PendingKind<readonly SettingChange[]> {
  const rebased = async (tx: Transaction, change: readonly SettingChange[]) => {
    const rows = await tx.setting.findMany({ where: { key: { in: change.map(({ name }) => name) } } });
    const now = textsOf(Object.fromEntries(rows.map(({ key, value }) => [key, value])));
    return change.map((each) => ({ ...each, before: now[each.name] ?? '' }));
  };
  return {
    kind: 'settings',
    schema: z.array(z.object({ name: z.string(), before: z.string(), after: z.string() })),
    stored: (changes) => changes.map(({ name, before, after }) => ({ name, before, after })),
    async apply(tx, { change, askedBy }, confirmedBy, at) {
      await lockChanges(tx, LOCK);
      const now = await rebased(tx, change);
      if (change.some(({ before }, index) => now[index]?.before !== before)) return false;
      await writeChanges(tx, change, { by: askedBy, confirmedBy, at });
      return true;
    },
    async rebase(tx, change) {
      const left = (await rebased(tx, change)).filter(({ before, after }) => before !== after);
      return left.length === 0 ? undefined : left;
    },
  };
}

/** Settings that admins have saved, and who changed what, in PostgreSQL. */
export function createSettingsStore({ prisma }: Database): SettingsStore {
  const readAll = shareRead(async () => {
    const rows = await prisma.setting.findMany();
    return Object.fromEntries(rows.map(({ key, value }) => [key, value]));
  });

  const exclusively = exclusiveChanges(prisma, LOCK);

  return storeOf('settings', {
    all: () => readAll(),

    save: (changes, by, at) => exclusively((tx) => writeChanges(tx, changes, { by, at })),
  });
}
