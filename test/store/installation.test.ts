import { expect, test } from 'vitest';
import { z } from 'zod';
import { type Database, Prisma } from '../../src/store/database.ts';
import { createInstallationStore } from '../../src/store/installation.ts';
import { createSettingsStore } from '../../src/store/settings.ts';
import { useTestDatabase } from '../support/database.ts';

const NOW = new Date('2027-06-14T12:00:00Z');
let database: Database;
useTestDatabase((opened) => {
  database = opened;
});

const rowsSchema = z.array(z.object({ name: z.string(), team: z.string() }));

async function loadTeams(table: string, nameColumn: string) {
  const found = await database.run(
    Prisma.sql`SELECT ${Prisma.raw(nameColumn)} AS name, team_id AS team FROM ${Prisma.raw(table)} ORDER BY 1`,
  );
  return Object.fromEntries(rowsSchema.parse(found).map(({ name, team }) => [name, team]));
}

async function watch(name: string): Promise<void> {
  await database.prisma.domain.create({
    data: { name, addedBy: 'U0ALICE', addedAt: NOW, nextDnsLookupAt: NOW, nextRegistryLookupAt: NOW },
  });
}

test('new rows belong to the served workspace', async () => {
  const settings = createSettingsStore(database);
  const installation = createInstallationStore(database);
  await installation.assignWorkspace('T0FIRST');
  await installation.assignWorkspace('T0FIRST');
  await watch('first.rest');
  await settings.save([{ name: 'approval_ttl', before: '3d', after: '2d' }], 'U0ADA', NOW);
  expect(await loadTeams('domains', 'name')).toEqual({ 'first.rest': 'T0FIRST' });
  expect(await loadTeams('settings', 'key')).toEqual({ approval_ttl: 'T0FIRST' });

  await installation.assignWorkspace('T0SECOND');
  await watch('second.rest');
  expect(await loadTeams('domains', 'name'), 'the first workspace keeps its rows').toEqual({
    'first.rest': 'T0FIRST',
    'second.rest': 'T0SECOND',
  });
});

test('tables without a team ID refer to a row with one, or belong to the installation', async () => {
  const found = await database.run(Prisma.sql`
    SELECT table_name AS name FROM information_schema.tables t
    WHERE table_schema = current_schema() AND NOT EXISTS (
      SELECT 1 FROM information_schema.columns c
      WHERE c.table_schema = t.table_schema AND c.table_name = t.table_name AND c.column_name = 'team_id')
    ORDER BY 1`);
  expect(
    z
      .array(z.object({ name: z.string() }))
      .parse(found)
      .map(({ name }) => name),
  ).toEqual([
    '_prisma_migrations',
    'approvals',
    'heartbeats',
    'incident_warnings',
    'leases',
    'order_answers',
    'order_items',
    'passkey_counters',
    'revealable_secrets',
    'token_steps',
  ]);
});
