import { afterAll, beforeAll, expect, test } from 'vitest';
import type { NameObservation } from '../../src/names/ports.ts';
import { insertObservations, MAX_OBSERVATIONS_PER_DAY } from '../../src/store/domain-statements.ts';
import { createNameRecordStore } from '../../src/store/name-records.ts';
import { type Rig, startRig } from '../store/order-rig.ts';

let rig: Rig;
beforeAll(async () => {
  rig = await startRig();
});
afterAll(() => rig.close());

const parseTime = (text: string) => new Date(`2026-11-${text}:00Z`);
const insertObservation = (observation: NameObservation) =>
  rig.database.run(insertObservations('flapping.rest', [observation]));
const insertDnsObservation = (at: Date) => insertObservation({ origin: 'dns', at, seen: {} });
const countByDay = async () =>
  (
    await rig.sql('SELECT at::date::text AS day, count(*)::int AS n FROM observations GROUP BY 1 ORDER BY 1')
  ).map(({ day: of, n }) => `${String(of)}: ${String(n)}`);

test('a name keeps at most 50 DNS observations a day, and every date from people', async () => {
  for (let minute = 0; minute < 70; minute += 1)
    await insertDnsObservation(new Date(parseTime('25T08:00').getTime() + minute * 60_000));
  await insertObservation({ origin: 'person', at: parseTime('25T23:00'), expiresAt: undefined });
  await insertDnsObservation(parseTime('26T00:00'));
  expect(MAX_OBSERVATIONS_PER_DAY).toBe(50);
  expect(await countByDay()).toEqual(['2026-11-25: 51', '2026-11-26: 1']);
});

test('observations can only be purged by age', async () => {
  await expect(rig.sql('DELETE FROM observations')).rejects.toThrow('only added');
  expect(await createNameRecordStore(rig.database, '').purgeObservations(parseTime('26T00:00'))).toBe(51);
  expect(await countByDay()).toEqual(['2026-11-26: 1']);
});
