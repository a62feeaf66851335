import type { SettingsStore } from '../settings.ts';
import { batch } from './batch.ts';
import { type Database, withStoreError } from './database.ts';

const BATCH = 500;
/** Notes are kept in the table of the settings, under keys that no setting has. */
const NOTE_PREFIX = 'note:';

/** Settings that admins have saved, and who changed what, in PostgreSQL. */
export function createSettingsStore({ prisma }: Pick<Database, 'prisma'>): SettingsStore {
  /** A burst of clicks reads the settings more often at one moment than there are connections. */
  const readInBatch = batch(async (questions: readonly undefined[]) => {
    const rows = await prisma.setting.findMany({ where: { NOT: { key: { startsWith: NOTE_PREFIX } } } });
    const saved = Object.fromEntries(rows.map(({ key, value }) => [key, value]));
    return questions.map(() => saved);
  });

  return {
    all: () => withStoreError('reading the settings', () => readInBatch(undefined)),

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
