import type { SettingsStore } from '../settings.ts';
import type { Database } from './database.ts';

/** What `/domain settings` saved, in PostgreSQL. */
export function createSettingsStore({ prisma }: Database): SettingsStore {
  return {
    async all() {
      const rows = await prisma.setting.findMany();
      return Object.fromEntries(rows.map(({ key, value }) => [key, value]));
    },

    async save(entries, by, at) {
      await prisma.$transaction(
        Object.entries(entries).map(([key, value]) => {
          const saved = { value, updatedBy: by, updatedAt: at };
          return prisma.setting.upsert({ where: { key }, create: { key, ...saved }, update: saved });
        }),
      );
    },
  };
}
