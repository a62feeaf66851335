import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { type Bench, type Line, measureAlternately, type Row, roundsAtLeast } from '../measure.ts';
import { approveAll, requestOrders } from '../orders.ts';
import { type Program, readResidentMemoryMb, startProgram } from '../processes.ts';
import { buildClick, buildCommand } from '../slack-load.ts';
import { Surroundings } from '../surroundings.ts';

/*
 * The built program as users run it: the time from its start until it is ready on an existing database, and its memory,
 * idle and after many orders. The reference is Bolt and Prisma with the same deliveries and one query each. Also the
 * demo, from an empty folder until its address is printed.
 */

const MAX_MORE_MS = 2_000;
const MAX_DEMO_MS = 4_000;
const MAX_RATIO = 1.5;
/** Memory after all orders, relative to that after the first quarter. */
const MAX_GROWTH = 1.1;

const MAIN = new URL('../../dist/main.js', import.meta.url);
const DEMO = new URL('../../dist/demo/main.js', import.meta.url);
const BARE = new URL('../children/bare-app.mjs', import.meta.url);

/** Enough that none of them reaches the bot's rate limit for clicks. */
const APPROVERS = Array.from({ length: 50 }, (_, n) => `U0APPROVER${n}`);

/** @returns the time from the demo's start in a new folder until it printed its address, in milliseconds */
async function timeDemoStart(): Promise<number> {
  const folder = await mkdtemp(join(tmpdir(), 'domain-steward-demo-'));
  // For root: PostgreSQL's user must be able to enter it.
  await chmod(folder, 0o755);
  const startedAt = performance.now();
  const child = spawn(process.execPath, [fileURLToPath(DEMO)], {
    env: { ...process.env, PORT: '0', DATA_DIR: folder },
    stdio: ['ignore', 'pipe', 'inherit'],
    // A folder without a `.env` file.
    cwd: folder,
  });
  const ended = once(child, 'exit');
  let startedWithinMs: number | undefined;
  for await (const line of createInterface(child.stdout)) {
    if (!line.includes('to try: open http')) continue;
    startedWithinMs = performance.now() - startedAt;
    break;
  }
  child.stdout.resume();
  child.kill('SIGTERM');
  await ended;
  await rm(folder, { recursive: true, force: true });
  if (startedWithinMs === undefined) throw new Error('the demo ended before it was ready');
  return startedWithinMs;
}

async function* measure({ effort, progress }: Bench): AsyncGenerator<Line> {
  const rounds = roundsAtLeast(effort, 5);
  const orders = effort.quick ? 40 : 10_000;
  const batchSize = effort.quick ? 10 : 500;
  const idleMs = effort.quick ? 100 : 5_000;
  const demoStartMs: number[] = [];
  // The first start fills the system's caches.
  for (let round = 0; round <= rounds; round += 1) {
    progress(`demo ${round}`);
    const ms = await timeDemoStart();
    if (round > 0) demoStartMs.push(ms);
  }
  yield {
    row: 'start',
    what: 'demo until ready, lived workspace',
    reference: '–',
    unit: 'ms',
    ours: demoStartMs,
    theirs: [],
    target: { of: 'ours', kind: 'at most', value: MAX_DEMO_MS },
  };
  const s = await Surroundings.open();
  const programs: Program[] = [];
  const startInstance = async (file: URL) => {
    const env = { ...s.environment(), APPROVERS: APPROVERS.join(',') };
    const program = await startProgram(file, env);
    programs.push(program);
    return program;
  };
  const measureStart = async (file: URL) => {
    const program = await startInstance(file);
    await sleep(idleMs);
    const idleMb = readResidentMemoryMb(program.pid);
    await program.stop();
    return { ms: program.startedWithinMs, idle: idleMb };
  };
  try {
    // The first start fills the system's caches.
    for (const file of [MAIN, BARE]) await measureStart(file);
    const measured = await measureAlternately(
      rounds,
      (round) => {
        progress(`start ${round + 1}`);
        return measureStart(MAIN);
      },
      () => measureStart(BARE),
    );
    yield {
      row: 'start',
      what: 'start until ready, the database is there',
      reference: 'Bolt and Prisma',
      unit: 'ms',
      ours: measured.ours.map(({ ms }) => ms),
      theirs: measured.theirs.map(({ ms }) => ms),
      target: { of: 'difference', kind: 'at most', value: MAX_MORE_MS },
    };
    yield {
      row: 'start',
      what: 'resident memory, idle',
      reference: 'Bolt and Prisma',
      unit: 'MB',
      ours: measured.ours.map(({ idle }) => idle),
      theirs: measured.theirs.map(({ idle }) => idle),
      target: { of: 'ratio', kind: 'at most', value: MAX_RATIO },
    };

    const bot = await startInstance(MAIN);
    const bare = await startInstance(BARE);
    let afterQuarterMb = Number.NaN;
    for (let done = 0; done < orders; done += batchSize) {
      progress(`${done} of ${orders} orders`);
      await requestOrders(s, [bot], batchSize);
      await approveAll(s, [bot], batchSize, APPROVERS);
      if (done + batchSize === orders / 4) {
        await sleep(idleMs * 6);
        afterQuarterMb = readResidentMemoryMb(bot.pid);
      }
      const commands = Array.from({ length: batchSize }, (_, n) =>
        buildCommand('renew bare.rest 2', s.person(n), s.responseUrl),
      );
      const order = { id: 'none', channelId: 'C0BARE', ts: '1.1' };
      const clicks = Array.from({ length: batchSize }, () =>
        buildClick('order_approve', order, s.approver, s.responseUrl),
      );
      await s.slack.sendConcurrently(bare.port, [...commands, ...clicks], 8);
    }
    await s.waitUntilIdle();
    // After a while, an idle process returns memory that it needed only briefly.
    await sleep(idleMs * 6);
    const finalMb = readResidentMemoryMb(bot.pid);
    const bareFinalMb = readResidentMemoryMb(bare.pid);
    yield {
      row: 'start',
      what: `resident memory after ${orders} orders`,
      reference: 'Bolt and Prisma',
      unit: 'MB',
      ours: [finalMb],
      theirs: [bareFinalMb],
      target: { of: 'ratio', kind: 'at most', value: MAX_RATIO },
    };
    yield {
      row: 'start',
      what: `resident memory after ${orders} orders`,
      reference: 'the bot after a quarter',
      unit: 'MB',
      ours: [finalMb],
      theirs: [afterQuarterMb],
      target: { of: 'ratio', kind: 'at most', value: MAX_GROWTH },
    };
  } finally {
    await Promise.all(programs.map((program) => program.stop()));
    await s.close();
  }
}

export const starting: Row = { id: 'start', seconds: 540, measure };
