import { afterAll, beforeAll, expect, test } from 'vitest';
import type { NameObservation } from '../../src/names/ports.ts';
import { insertObservations, MAX_OBSERVATIONS_PER_DAY } from '../../src/store/domain-statements.ts';
import { createNameRecordStore } from '../../src/store/name-records.ts';
import { type Rig, startRig } from '../store/order-rig.ts';

let rig: Rig;
beforeAll(async () => {
  rig = await startRig();
});
afterAll(() => rig.end());

const day = (text: string) => new Date(`2026-11-${text}:00Z`);
const keep = (observation: NameObservation) =>
  rig.database.run(insertObservations('flapping.rest', [observation]));
const seen = (at: Date) => keep({ origin: 'dns', at, seen: {} });
const kept = async () =>
  (
    await rig.sql('SELECT at::date::text AS day, count(*)::int AS n FROM observations GROUP BY 1 ORDER BY 1')
  ).map(({ day: of, n }) => `${String(of)}: ${String(n)}`);

test('a zone that changes all day leaves fifty lines of that day, and people’s statements are always kept', async () => {
  for (let minute = 0; minute < 70; minute += 1)
    await seen(new Date(day('25T08:00').getTime() + minute * 60_000));
  await keep({ origin: 'person', at: day('25T23:00'), expiresAt: undefined });
  await seen(day('26T00:00'));
  expect(MAX_OBSERVATIONS_PER_DAY).toBe(50);
  expect(await kept()).toEqual(['2026-11-25: 51', '2026-11-26: 1']);
});

test('observations are deleted only by age', async () => {
  await expect(rig.sql('DELETE FROM observations')).rejects.toThrow('only added');
  expect(await createNameRecordStore(rig.database, '').purgeObservations(day('26T00:00'))).toBe(51);
  expect(await kept()).toEqual(['2026-11-26: 1']);
});
