import { expect, test } from 'vitest';
import { buildPageControls, createPageActions, slicePage } from '../../../src/slack/kit/pages.ts';
import fc from '../../support/properties.ts';

const numbers = (length: number) => Array.from({ length }, (_, n) => n);

test('paging forward shows every entry once, and paging back ends at the first page', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 0, max: 200 }),
      fc.integer({ min: 1, max: 30 }),
      async (total, size) => {
        const all = numbers(total);
        let page = slicePage(all, 0, size);
        const [next, previous] = createPageActions(
          'list',
          async (_call: { readonly value: string }, { of, offset }) => {
            expect(of).toBe('mine');
            page = slicePage(all, offset, size);
          },
        );
        const click = async (text: string, { run }: typeof next | typeof previous) => {
          const controls = JSON.stringify(buildPageControls('list', page, size, 'mine'));
          if (!controls.includes(text)) return false;
          const value = buildPageControls('list', page, size, 'mine')
            .flatMap((block) => (block.type === 'actions' ? block.elements : []))
            .flatMap((each) => (each.type === 'button' && each.text.text === text ? (each.value ?? '') : []));
          await run({ value: value[0] ?? '' });
          return true;
        };
        const seen = [...page.items];
        while (await click('Next', next)) seen.push(...page.items);
        expect(seen).toEqual(all);
        while (await click('Previous', previous));
        expect(page.items).toEqual(all.slice(0, size));
      },
    ),
    { numRuns: 40 },
  );
});

test('the last page is shown if the list is now shorter', () => {
  expect(slicePage(numbers(10), 40, 4)).toEqual({ items: [8, 9], offset: 8, total: 10 });
  expect(slicePage([], 40, 4)).toEqual({ items: [], offset: 0, total: 0 });
});
