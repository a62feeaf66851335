import { z } from 'zod';
import { type AnyBlock, actions, button, context } from './blocks.ts';

export interface Page<T> {
  readonly items: readonly T[];
  /** The number of items before the page. */
  readonly offset: number;
  readonly total: number;
}

/** Returns the page at an offset, or the last page if the list has become shorter. */
export function slicePage<T>(all: readonly T[], offset: number, size: number): Page<T> {
  const lastStart = Math.max(0, Math.ceil(all.length / size) - 1) * size;
  const start = Math.min(Math.max(0, offset), lastStart);
  return { items: all.slice(start, start + size), offset: start, total: all.length };
}

/** The value of a paging button. `of` contains the list's arguments. */
const pageRequestSchema = z.object({ of: z.string(), offset: z.int().min(0) });
export type PageRequest = z.output<typeof pageRequestSchema>;

/**
 * Builds, for example, `21–40 of 73` with *Previous* and *Next*.
 * @param idPrefix prefix of the buttons' ids
 * @returns nothing if the list fits on one page
 */
export function buildPageControls<T>(
  idPrefix: string,
  { items, offset, total }: Page<T>,
  size: number,
  listArgs = '',
): AnyBlock[] {
  if (total <= size) return [];
  const toValue = (start: number) => JSON.stringify({ of: listArgs, offset: start } satisfies PageRequest);
  const end = offset + items.length;
  return [
    context(`${offset + 1}–${end} of ${total}`),
    ...actions(`${idPrefix}_pages`, [
      offset > 0 && button(`${idPrefix}_previous`, 'Previous', toValue(Math.max(0, offset - size))),
      end < total && button(`${idPrefix}_next`, 'Next', toValue(end)),
    ]),
  ];
}

export function createPageActions<const IdPrefix extends string, Call extends { readonly value: string }>(
  idPrefix: IdPrefix,
  show: (call: Call, request: PageRequest) => Promise<void>,
) {
  const run = (call: Call) => show(call, pageRequestSchema.parse(JSON.parse(call.value)));
  return [
    { id: `${idPrefix}_next` as const, run },
    { id: `${idPrefix}_previous` as const, run },
  ] as const;
}
