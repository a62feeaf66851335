import { beforeAll, beforeEach, expect, test } from 'vitest';
import { z } from 'zod';
import type { SettingChange, SettingsStore } from '../../src/config/settings.ts';
import type { Database } from '../../src/store/database.ts';
import { createProposalStore } from '../../src/store/proposals.ts';
import { createSettingsStore } from '../../src/store/settings.ts';
import { useTestDatabase } from '../support/database.ts';
import { deleteTeamEvents, readTeamEvents } from '../support/log.ts';
import { confirmProposal } from '../support/proposals.ts';

let database: Database;
useTestDatabase((opened) => {
  database = opened;
});
let store: SettingsStore;
beforeAll(async () => {
  store = createSettingsStore(database);
});
beforeEach(async () => {
  await database.prisma.setting.deleteMany();
  await deleteTeamEvents(database);
});

const at = (seconds: number) => new Date(Date.UTC(2026, 0, 1) + seconds * 1_000);
const change = (name: string, before: string, after: string): SettingChange => ({ name, before, after });

async function loadLog(from: Date, to: Date) {
  return (await readTeamEvents(database, '', from, to)).flatMap((event) =>
    event.kind === 'setting_changed'
      ? {
          name: event.subject.id,
          before: event.before,
          after: event.after,
          by: event.actor,
          confirmedBy: event.confirmedBy,
          at: event.at,
        }
      : [],
  );
}

test('the last saved value is current, and the log has every change with its author', async () => {
  expect(await store.loadAll()).toEqual({});
  await store.save(
    [change('approvals_required', '1', '2'), change('approval_ttl', '3d', '1d')],
    'U0ADA',
    at(1),
  );
  await store.save([change('approvals_required', '2', '3')], 'U0BOB', at(2));
  expect(await store.loadAll()).toEqual({ approvals_required: '3', approval_ttl: '1d' });
  expect(await loadLog(at(0), at(10))).toEqual([
    { ...change('approvals_required', '1', '2'), by: 'U0ADA', at: at(1) },
    { ...change('approval_ttl', '3d', '1d'), by: 'U0ADA', at: at(1) },
    { ...change('approvals_required', '2', '3'), by: 'U0BOB', at: at(2) },
  ]);
  expect(await loadLog(at(1), at(2)), 'includes the start, excludes the end').toHaveLength(2);
});

test('a log of several pages is read in full, each line once', async () => {
  const names = Array.from({ length: 501 }, (_, n) => `setting_${n}`);
  await store.save(
    names.map((name) => change(name, '1', '2')),
    'U0ADA',
    at(1),
  );
  expect((await loadLog(at(0), at(10))).map(({ name }) => name)).toEqual(names);
});

test('either all changes of a save are stored, or none', async () => {
  const tooLate = new Date(8.64e15 + 1);
  await expect(store.save([change('reminder_days', '30', '60')], 'U0ADA', tooLate)).rejects.toMatchObject({
    name: 'StoreError',
  });
  const unstorable = change('reminder_cron', '', 'a\u0000b');
  await expect(
    store.save([change('reminder_days', '30', '60'), unstorable], 'U0ADA', at(1)),
  ).rejects.toMatchObject({ name: 'StoreError' });
  expect(await store.loadAll()).toEqual({});
  expect(await loadLog(at(0), at(10))).toEqual([]);
});

test('20 concurrent saves leave one value, and 20 lines in the log', async () => {
  await Promise.all(
    Array.from({ length: 20 }, (_, n) =>
      store.save([change('approval_ttl', '3d', `${n + 1}h`)], `U${n}`, at(n)),
    ),
  );
  const { approval_ttl: savedTtl } = await store.loadAll();
  const lines = await loadLog(at(0), at(100));
  expect(lines).toHaveLength(20);
  expect(lines.map(({ after }) => after)).toContain(savedTtl);
});

test('a confirmed proposal is saved with both people in the log, if the setting is unchanged', async () => {
  const initialSettings = { approvals_required: '2', approval_tasks: 'renew' };
  const formatSavedSettings = (saved: Readonly<Record<string, unknown>>) => ({
    ...initialSettings,
    ...z.record(z.string(), z.string()).parse(saved),
  });
  const proposals = createProposalStore(database, { teamId: 'T1', formatSavedSettings, canSign: false });
  const propose = (payload: readonly SettingChange[]) =>
    proposals.propose({ kind: 'settings', payload, proposer: 'U0ADA', proposedAt: at(1) });
  const firstProposal = await propose([change('approvals_required', '2', '1')]);
  const secondProposal = await propose([
    change('approvals_required', '2', '1'),
    change('approval_tasks', 'renew', ''),
  ]);
  expect(await confirmProposal(proposals, firstProposal.id, 'U0BOB', at(2))).toMatchObject({
    kind: 'applied',
  });
  expect(await store.loadAll()).toEqual({ approvals_required: '1' });
  expect(await confirmProposal(proposals, secondProposal.id, 'U0BOB', at(3))).toMatchObject({
    kind: 'changed',
    current: { payload: [change('approval_tasks', 'renew', '')] },
  });
  expect(await store.loadAll()).toEqual({ approvals_required: '1' });
  expect(await loadLog(at(0), at(10))).toEqual([
    { ...change('approvals_required', '2', '1'), by: 'U0ADA', confirmedBy: 'U0BOB', at: at(2) },
  ]);
});
