import { writeFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { describeMachine } from './machine.ts';
import { computeSpread, isMet, type Line, type Row, targetFigures } from './measure.ts';
import { enableProfiling } from './processes.ts';
import { acknowledge } from './rows/acknowledge.ts';
import { approve } from './rows/approve.ts';
import { bulk } from './rows/bulk.ts';
import { card } from './rows/card.ts';
import { client } from './rows/client.ts';
import { due } from './rows/due.ts';
import { hung } from './rows/hung.ts';
import { importing } from './rows/import.ts';
import { ledger } from './rows/ledger.ts';
import { names } from './rows/names.ts';
import { observe } from './rows/observe.ts';
import { policy } from './rows/policy.ts';
import { replicas } from './rows/replicas.ts';
import { sign } from './rows/sign.ts';
import { starting } from './rows/start.ts';
import { throughput } from './rows/throughput.ts';
import { vault } from './rows/vault.ts';
import { formatTable } from './table.ts';

/*
 * npm run bench -- [--quick] [--only ROW[,ROW]] [--rounds N] [--json FILE] [--profile FOLDER]
 *
 * Measures every row and prints one table; the figures of each round go to a JSON file.
 */

const ROWS: readonly Row[] = [
  acknowledge,
  hung,
  card,
  approve,
  sign,
  throughput,
  bulk,
  replicas,
  client,
  vault,
  due,
  importing,
  policy,
  names,
  observe,
  ledger,
  starting,
];

const { values } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    only: { type: 'string' },
    rounds: { type: 'string' },
    profile: { type: 'string' },
    json: { type: 'string', default: 'bench-results.json' },
  },
});
if (values.profile !== undefined) enableProfiling(resolve(values.profile));
const requestedIds = values.only?.split(',');
const unknown = requestedIds?.filter((id) => !ROWS.some((row) => row.id === id)) ?? [];
if (unknown.length > 0) {
  process.stderr.write(
    `There is no row ${unknown.join(', ')}. Rows: ${ROWS.map(({ id }) => id).join(', ')}.\n`,
  );
  process.exit(1);
}
const effort = { quick: values.quick, rounds: Number(values.rounds ?? (values.quick ? 1 : 5)) };
const selectedRows = ROWS.filter(({ id }) => requestedIds === undefined || requestedIds.includes(id));
const machine = await describeMachine();
process.stdout.write(`${machine.join('\n')}\n\n`);
if (!values.quick) {
  const minutes = Math.ceil(selectedRows.reduce((sum, { seconds }) => sum + seconds, 0) / 60);
  process.stderr.write(`Takes about ${minutes} min.\n`);
}

const lines: Line[] = [];
for (const row of selectedRows) {
  const progress = (what: string) => void process.stderr.write(`${row.id}: ${what}\n`);
  for await (const line of row.measure({ effort, progress })) {
    lines.push(line);
    process.stderr.write(`${formatTable([line]).split('\n').at(-1)}\n`);
  }
}
process.stdout.write(`${formatTable(lines)}\n`);
const results = lines.map((line) => ({
  ...line,
  assessed: computeSpread(targetFigures(line)),
  met: isMet(line) ?? null,
}));
await writeFile(values.json, `${JSON.stringify({ machine, effort, results }, undefined, 2)}\n`);
// A missed target isn't a failure, because the machine may be busy.
process.exit(0);
