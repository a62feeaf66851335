import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openDatabase } from '../../src/store/database.ts';
import { createLedgerStore } from '../../src/store/ledger.ts';
import { formatLines, type LedgerRig, startLedgerRig, verifyText } from './rig.ts';

/*
 * Kills sealers at random times. A sealer works in one transaction, so closing its connection kills it.
 */

const KILLS = 150;
const SEALERS = 2;

let rig: LedgerRig;
beforeAll(async () => {
  rig = await startLedgerRig();
});
afterAll(() => rig.close());

/** Closes connections in a sealer's transaction. @returns their count */
async function killSealers(): Promise<number> {
  const rows = await rig.sql(`
    SELECT pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid() AND application_name = 'domain-steward' AND xact_start IS NOT NULL
      AND query ~ 'unsealed_events|seals|pg_try_advisory|BEGIN|COMMIT'`);
  return rows.length;
}

test(`${KILLS} kills while sealing leave one chain with every event sealed once`, {
  timeout: 240_000,
}, async () => {
  let isOver = false;
  let failures = 0;
  const seal = async () => {
    const database = openDatabase({ url: rig.url, maxConnections: 2 });
    const ledger = rig.createProcessLedger({ store: createLedgerStore(database, '') });
    while (!isOver)
      await ledger.runOnce().catch(() => {
        failures += 1;
      });
    await database.close();
  };
  const sealers = Array.from({ length: SEALERS }, seal);
  let killed = 0;
  let written = 0;
  while (killed < KILLS) {
    await rig.writeEvents(3);
    written += 3;
    await sleep(Math.random() * 4);
    killed += await killSealers();
  }
  isOver = true;
  await Promise.all(sealers);
  await rig.running.runOnce();
  const report = await verifyText(await formatLines(rig.createProcessLedger().streamFile()), {
    key: rig.key.fingerprint,
  });
  expect(report).toMatchObject({
    verdict: 'proved',
    differences: [],
    events: { from: 1, to: written, count: written },
  });
  expect(await rig.sql('SELECT FROM unsealed_events')).toEqual([]);
  expect(failures).toBeGreaterThan(KILLS / 4);
  expect(report.seals?.count).toBeGreaterThan(10);
});
