import { monitorEventLoopDelay } from 'node:perf_hooks';
import type { Actor, View } from '@domain-steward/slack-workspace';
import { describe, expect, test } from 'vitest';
import { openForm, performAndWaitForView, textOf, useTestDemo } from '../support/demo.ts';

/*
 * Files that could block the event loop: the form refuses them, names the exceeded limit, and the bot keeps working.
 */

const t = useTestDemo();

/** More than a busy machine adds, and less than splitting all rows of such a file takes. */
const MAX_STALL_MS = 4_000;

const CELL_COUNT = 180_000;
const WIDE_HEADER = `name${',note'.repeat(CELL_COUNT)}\n${'cafe.rest\n'.repeat(500)}`.slice(0, 999_000);
const WIDE_ROWS = `zone,task,amount,valid_from,source\n${`rest${','.repeat(CELL_COUNT)}\n`.repeat(5)}`;
const OPEN_QUOTE = `name\n"${'cafe.rest\n'.repeat(99_000)}`;
const BLANK_LINES = `name\n${',\n'.repeat(490_000)}`;
const MANY_ROWS = `name\n${Array.from({ length: 60_000 }, (_, index) => `n${index}.rest`).join('\n')}`;
const LONG_CELL = `name\n${'n'.repeat(900_000)}.rest`;

const FILES = [
  ['180,000 columns', WIDE_HEADER, /Line 1.*more than 100 columns/],
  ['rows of 180,000 cells', WIDE_ROWS, /Line 2.*more than 100 columns/],
  ['a quotation mark that is never closed', OPEN_QUOTE, /isn’t CSV/],
  ['lines without a name', BLANK_LINES, /at most 20?,000 rows/],
  ['60,000 rows', MANY_ROWS, /at most 20?,000 rows/],
  ['a cell of 900,000 characters', LONG_CELL, /Line 2.*10,000 characters/],
  ['a column twice', 'name,note,note\ncafe.rest,a,b\n', /“note” appears twice/],
] as const;

const FORMS: Readonly<Record<string, () => Promise<View>>> = {
  names_import: () => openForm(t.workspace, t.ada, '/domain names import'),
  prices_import: async () => {
    const before = t.ada.ephemerals().length;
    await t.ada.command('C0DOMAINS', '/domain prices');
    const list = await t.workspace.waitFor(() => t.ada.ephemerals()[before], { what: 'the price list' });
    return performAndWaitForView(t.workspace, t.ada, () => t.ada.click(list, 'prices_import'));
  },
  bulk: () => openForm(t.workspace, t.alice, '/domain bulk delete'),
};

function readViewText(person: Actor, { id }: View): string | undefined {
  const shown = person.openedViews().find((view) => view.id === id);
  return shown && textOf({ blocks: shown.blocks });
}

/** One form gets every file. The others use the same parser, so two files are enough. */
const filesFor = (form: string) => (form === 'names_import' ? FILES : FILES.slice(-2));

describe.each(Object.entries(FORMS))('the form %s', (form, open) => {
  test.each(filesFor(form))('refuses a file with %s', async (_what, text, expected) => {
    const person = form === 'bulk' ? t.alice : t.ada;
    const view = await open();
    const file = person.upload('hostile.csv', text);
    const eventLoopDelay = monitorEventLoopDelay({ resolution: 10 });
    eventLoopDelay.enable();
    const result = await person.submit(view, { file: [file] });
    // On a busy machine the form first shows that it is checking.
    const errors = await t.workspace.waitFor(
      () => {
        const shownError = result.outcome === 'errors' ? result.errors['file'] : readViewText(person, view);
        return shownError !== undefined && expected.test(shownError) ? shownError : undefined;
      },
      { what: `${expected} at the form: ${JSON.stringify(result).slice(0, 300)}` },
    );
    eventLoopDelay.disable();
    expect(errors).toMatch(expected);
    expect(eventLoopDelay.max / 1e6, 'the longest stall in milliseconds').toBeLessThan(MAX_STALL_MS);
    await person.close(view);
  });
});
