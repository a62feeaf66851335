import { z } from 'zod';
import { type Bench, type Line, quantile } from './measure.ts';
import { Surroundings, waitUntil } from './surroundings.ts';

/* The duration of an action on an otherwise idle system, compared with a reference. */

interface IdleLatency {
  readonly row: string;
  readonly what: string;
  readonly reference: string;
  /** By how much the median may exceed the reference's. */
  readonly maxMoreMs: number;
  /** Settings of the bot besides the default ones. */
  readonly settings?: Readonly<Record<string, string>>;
}

/** Durations in milliseconds, one per sample. */
interface Samples {
  readonly ours: readonly number[];
  readonly theirs: readonly number[];
}

type TakeSamples = (amount: number) => Promise<Samples>;

/**
 * Measures in several rounds with one idle bot, after a warm-up round.
 * @param prepare called once, with the bot running
 */
export async function* measureIdleLatency(
  { effort, progress }: Bench,
  { row, what, reference, maxMoreMs, settings }: IdleLatency,
  prepare: (surroundings: Surroundings, botPort: number) => TakeSamples | Promise<TakeSamples>,
): AsyncGenerator<Line> {
  const surroundings = await Surroundings.open();
  try {
    const bot = await surroundings.start('bot.ts', { ...surroundings.environment(), ...settings });
    const takeSamples = await prepare(surroundings, bot.port);
    await takeSamples(effort.quick ? 1 : 10);
    const rounds: Samples[] = [];
    for (let n = 0; n < effort.rounds; n += 1) {
      progress(`round ${n + 1}`);
      rounds.push(await takeSamples(effort.quick ? 3 : 20));
    }
    for (const [label, fraction] of [
      ['p50', 0.5],
      ['p90', 0.9],
    ] as const) {
      yield {
        row,
        what: `${what}, idle, ${label}`,
        reference,
        unit: 'ms',
        ours: rounds.map(({ ours }) => quantile(ours, fraction)),
        theirs: rounds.map(({ theirs }) => quantile(theirs, fraction)),
        ...(label === 'p50' ? { target: { of: 'difference', kind: 'at most', value: maxMoreMs } } : {}),
      };
    }
  } finally {
    await surroundings.close();
  }
}

/**
 * Performs an action and waits for its effect at a peer.
 * @param effectAt when the peer saw the effect, by the clock of `process.hrtime`; undefined until then
 * @returns the milliseconds between the start of the action and its effect
 */
export async function timeUntil(
  what: string,
  action: () => Promise<unknown>,
  effectAt: () => Promise<number | undefined>,
): Promise<number> {
  const startedAt = Number(process.hrtime.bigint()) / 1e6;
  await action();
  let endedAt: number | undefined;
  await waitUntil(what, async () => {
    endedAt = await effectAt();
    return endedAt !== undefined;
  });
  return (endedAt ?? Number.NaN) - startedAt;
}

const requestsSchema = z.object({ requests: z.array(z.tuple([z.string(), z.number()])) });

/** @param action causes a request to the domain service */
export function timeUntilRequest({ peers }: Surroundings, action: () => Promise<unknown>): Promise<number> {
  const effectAt = async () => (await peers.ask('requests', requestsSchema)).requests[0]?.[1];
  return timeUntil('the request is at the service', action, effectAt);
}
