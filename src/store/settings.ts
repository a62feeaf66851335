import { z } from 'zod';
import type { SettingsStore } from '../settings.ts';
import { batch } from './batch.ts';
import { type Database, named, Prisma, withStoreError } from './database.ts';

const savedRows = z.array(z.object({ key: z.string(), value: z.unknown() }));

const BATCH = 500;

/** What `/domain settings` saved, and who changed what, in PostgreSQL. */
export function createSettingsStore({ prisma, run }: Database): SettingsStore {
  const readTogether = batch(async (questions: readonly undefined[]) => {
    const rows = savedRows.parse(await run(named('settings', Prisma.sql`SELECT key, value FROM settings`)));
    const saved = Object.fromEntries(rows.map(({ key, value }) => [key, value]));
    return questions.map(() => saved);
  });

  return {
    all: () => withStoreError('reading the settings', () => readTogether(undefined)),

    async save(changes, by, at) {
      await withStoreError('saving settings', () =>
        prisma.$transaction([
          ...changes.map(({ name, after }) => {
            const saved = { value: after, updatedBy: by, updatedAt: at };
            return prisma.setting.upsert({
              where: { key: name },
              create: { key: name, ...saved },
              update: saved,
            });
          }),
          prisma.settingChange.createMany({
            data: changes.map(({ name, before, after }) => ({ key: name, before, after, by, at })),
          }),
        ]),
      );
    },

    async *changes(from, to) {
      for (let after = 0n; ; ) {
        const rows = await withStoreError('reading changed settings', () =>
          prisma.settingChange.findMany({
            where: { id: { gt: after }, at: { gte: from, lt: to } },
            orderBy: { id: 'asc' },
            take: BATCH,
          }),
        );
        for (const { key, before, after: to, by, at } of rows) yield { name: key, before, after: to, by, at };
        const last = rows.at(-1);
        if (last === undefined || rows.length < BATCH) return;
        after = last.id;
      }
    },
  };
}
