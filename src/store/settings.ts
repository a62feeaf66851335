import { z } from 'zod';
import type { SettingsStore } from '../settings.ts';
import { shareRead } from './batch.ts';
import { changeLines } from './changes.ts';
import { type Database, named, Prisma, withStoreError } from './database.ts';

/** Notes are kept in the table of the settings, under keys that no setting has. */
const NOTE_PREFIX = 'note:';

const settingRows = z.array(z.object({ key: z.string(), value: z.unknown() }));
const SELECT_SETTINGS = named(
  'settings',
  Prisma.sql`SELECT key, value FROM settings WHERE key NOT LIKE ${`${NOTE_PREFIX}%`}`,
);

/** Settings that admins have saved, and who changed what, in PostgreSQL. */
export function createSettingsStore({ prisma, run }: Pick<Database, 'prisma' | 'run'>): SettingsStore {
  const readAll = shareRead(async () => {
    const rows = settingRows.parse(await run(SELECT_SETTINGS));
    return Object.fromEntries(rows.map(({ key, value }) => [key, value]));
  });

  return {
    all: () => withStoreError('reading the settings', readAll),

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

    noteOnce: (note, at) =>
      withStoreError('noting what is done once', async () => {
        const { count } = await prisma.setting.createMany({
          data: [{ key: `${NOTE_PREFIX}${note}`, value: true, updatedBy: 'system', updatedAt: at }],
          skipDuplicates: true,
        });
        return count === 1;
      }),

    forgetNote: (note) =>
      withStoreError('taking a note back', async () => {
        await prisma.setting.deleteMany({ where: { key: `${NOTE_PREFIX}${note}` } });
      }),

    async *changes(from, to) {
      const lines = changeLines('reading changed settings', from, to, (where, page) =>
        prisma.settingChange.findMany({ where, ...page }),
      );
      for await (const { key, before, after: to, by, at } of lines)
        yield { name: key, before, after: to, by, at };
    },
  };
}
