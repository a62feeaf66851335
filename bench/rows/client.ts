import { measureClientRows } from '../client.ts';
import type { Bench, Line, Row } from '../measure.ts';

/* Client calls, compared with the same calls written by hand. */

async function* measure({ effort, progress }: Bench): AsyncGenerator<Line> {
  const options = { rounds: effort.rounds, roundMs: effort.quick ? 50 : 1_500, concurrency: 10 };
  for await (const { name, reference, unit, ours, theirs, target } of measureClientRows(options)) {
    progress(name);
    yield {
      row: 'client',
      what: name,
      reference,
      unit,
      ours,
      theirs,
      target: { of: 'ratio', kind: 'at least', value: target },
    };
  }
}

export const client: Row = { id: 'client', seconds: 130, measure };
