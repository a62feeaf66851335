import type {
  ActionsBlock,
  Button,
  ContextBlock,
  DataTableBlock,
  HeaderBlock,
  KnownBlock,
  Overflow,
  PlainTextElement,
  PlainTextOption,
  RichTextElement,
  SectionBlock,
} from '@slack/types';
import { type Maybe, present } from '../../lib/collections.ts';
import {
  CONTROL,
  escapeText,
  LIMITS,
  mention,
  moment,
  plain,
  splitMarkup,
  truncate,
  truncateMarkup,
  utcMinute,
} from './mrkdwn.ts';

/*
 * Blocks within Slack's limits. What stands in them is escaped by `mrkdwn.ts`, whose words are exported here too.
 */

export * from './mrkdwn.ts';

/** A block of a chart, which `@slack/types` does not have yet. */
export interface DataVisualizationBlock {
  readonly type: 'data_visualization';
  readonly block_id?: string;
  readonly title: string;
  readonly chart: {
    readonly type: 'bar';
    readonly series: readonly {
      readonly name: string;
      readonly data: readonly { readonly label: string; readonly value: number }[];
    }[];
    readonly axis_config: {
      readonly categories: readonly string[];
      readonly x_label?: string;
      readonly y_label?: string;
    };
  };
}

type CutThing = 'blocks' | 'buttons' | 'elements' | 'options' | 'rows';
let onCut: (what: CutThing, found: number, limit: number) => void = () => undefined;

/** Hears of everything that Slack's limits cut off. Tests let it throw: a list that can outgrow its message has pages. */
export function watchCuts(handle: typeof onCut): void {
  onCut = handle;
}

/** The first of too many things of a kind. */
function cutTo<T>(all: readonly T[], limit: number, what: CutThing): readonly T[] {
  if (all.length > limit) onCut(what, all.length, limit);
  return all.slice(0, limit);
}

/** A block of a message. Charts are for messages alone, so a view has none. */
export type AnyBlock = KnownBlock | DataVisualizationBlock;

/** Text and blocks of one message. */
export interface Message {
  /** What notifications and screen readers say; no markup. */
  readonly text: string;
  readonly blocks: readonly AnyBlock[];
  /** How to act when Slack takes only the text; mrkdwn. */
  readonly textOnlyHint?: string;
}

export function plainText(text: string, limit: number = LIMITS.sectionText): PlainTextElement {
  return { type: 'plain_text', text: truncate(text, limit), emoji: true };
}

export function header(text: string): HeaderBlock {
  return { type: 'header', text: plainText(text, LIMITS.headerText) };
}

/** @param texts mrkdwn whose foreign parts are escaped already, one line or more each */
export function section(...texts: readonly Maybe<string>[]): SectionBlock {
  const text = truncateMarkup(present(texts).join('\n'), LIMITS.sectionText);
  return { type: 'section', text: { type: 'mrkdwn', text, verbatim: true } };
}

/** A longer fact takes the whole width. */
const LONG_FACT = 400;

/** A label and a value, mrkdwn; undefined where there is nothing to say. */
export type Fact = readonly [label: string, value: string | undefined];

/**
 * Facts in two columns, at most ten per section. A long one takes the whole width, so that all of it can be seen. One
 * without a value is left out.
 */
export function facts(pairs: readonly Fact[]): SectionBlock[] {
  const said = pairs.flatMap(([label, value]) => (value === undefined ? [] : [`*${label}*\n${value}`]));
  const short = said.filter((fact) => fact.length <= LONG_FACT);
  const sections: SectionBlock[] = [];
  for (let from = 0; from < short.length; from += LIMITS.sectionFields) {
    sections.push({
      type: 'section',
      fields: short
        .slice(from, from + LIMITS.sectionFields)
        .map((text) => ({ type: 'mrkdwn', text, verbatim: true })),
    });
  }
  const long = said.filter((fact) => fact.length > LONG_FACT);
  return [...sections, ...long.flatMap((fact) => wholeLines(fact.split('\n')))];
}

/** Joins lines into as few sections as possible. */
export function lines(all: readonly Maybe<string>[]): SectionBlock[] {
  const parts: string[] = [];
  for (const line of present(all)) {
    const last = parts.at(-1);
    if (last !== undefined && last.length + line.length < LIMITS.sectionText) {
      parts[parts.length - 1] = `${last}\n${line}`;
    } else parts.push(line);
  }
  return parts.map((part) => section(part));
}

/** The same for lines of which nothing may be cut: one that is too long for a section goes on in the next. */
export function wholeLines(all: readonly Maybe<string>[]): SectionBlock[] {
  return lines(present(all).flatMap((line) => splitMarkup(line, LIMITS.sectionText)));
}

export function context(...texts: readonly Maybe<string>[]): ContextBlock {
  return {
    type: 'context',
    elements: cutTo(present(texts), LIMITS.contextElements, 'elements').map((text) => ({
      type: 'mrkdwn',
      text: truncateMarkup(text, LIMITS.fieldText),
      verbatim: true,
    })),
  };
}

export const divider: KnownBlock = { type: 'divider' };

/** @param value an id and no content: on a click everything is read again */
export function button(
  actionId: string,
  text: string,
  value: string,
  {
    style,
    label,
  }: {
    readonly style?: 'primary' | 'danger' | undefined;
    /** For screen readers, if the text alone doesn't say what the button is about. */
    readonly label?: string | undefined;
  } = {},
): Button {
  return {
    type: 'button',
    action_id: actionId,
    text: plainText(text, LIMITS.buttonText),
    value,
    ...(style === undefined ? {} : { style }),
    ...(label === undefined ? {} : { accessibility_label: truncate(label, LIMITS.buttonText) }),
  };
}

/** Menus whose options stand for buttons, as `<button>:<value>`. */
const MENUS = ['order_more', 'reminder_more', 'names_more'] as const;
type MenuId = (typeof MENUS)[number];

/** The button that was chosen in a menu, and its value; undefined for any other press. */
export function chosenInMenu(actionId: string, option: string): { id: string; value: string } | undefined {
  const end = option.indexOf(':');
  if (!MENUS.some((menuId) => menuId === actionId) || end < 0) return undefined;
  return { id: option.slice(0, end), value: option.slice(end + 1) };
}

/** Whether buttons can be options of a menu, whose values Slack limits. */
export function fitsMenu(buttons: readonly Button[]): boolean {
  return buttons.every(({ action_id, value = '' }) => `${action_id}:${value}`.length <= LIMITS.optionValue);
}

/** Buttons behind ⋯; undefined where there are none. More than Slack takes in one menu is a fault of the program. */
export function moreMenu(menuId: MenuId, buttons: readonly Maybe<Button>[]): Overflow | undefined {
  const all = present(buttons);
  if (all.length > LIMITS.overflow) throw new Error(`${all.length} buttons in the menu ${menuId}`);
  if (all.length === 0) return undefined;
  const options = all.map(({ action_id, text, value }) => ({
    text: plainText(text.text, LIMITS.optionText),
    value: `${action_id}:${value}`,
  }));
  return { type: 'overflow', action_id: menuId, options };
}

/** A section with a menu at its side. */
export function withMenu(
  block: SectionBlock,
  blockId: string,
  menuOfBlock: Overflow | undefined,
): SectionBlock {
  return { ...block, block_id: blockId, ...(menuOfBlock === undefined ? {} : { accessory: menuOfBlock }) };
}

/** Whether blocks have a button, or have it in a menu. */
export function offers(blocks: readonly AnyBlock[], actionId: string): boolean {
  return blocks.some((block) => {
    const elements =
      block.type === 'actions' ? block.elements : block.type === 'section' ? [block.accessory] : [];
    return elements.some((element) => {
      if (element?.type === 'button') return element.action_id === actionId;
      return (
        element?.type === 'overflow' &&
        element.options.some(({ value = '' }) => value.startsWith(`${actionId}:`))
      );
    });
  });
}

/** A row of buttons, and a menu behind them; empty when there are none. */
export function actions(blockId: string, buttons: readonly Maybe<Button | Overflow>[]): ActionsBlock[] {
  const elements = [...cutTo(present(buttons), LIMITS.actions, 'buttons')];
  return elements.length === 0 ? [] : [{ type: 'actions', block_id: blockId, elements }];
}

/** An option of a menu: its value, and the text that people read. */
export interface MenuOption {
  readonly value: string;
  readonly text: string;
}

/** Options of a menu, as many as Slack takes. */
export function menuOptions(options: readonly MenuOption[]): PlainTextOption[] {
  return cutTo(options, LIMITS.options, 'options').map(({ value, text }) => ({
    text: plainText(text, LIMITS.optionText),
    value,
  }));
}

/** A row with a menu, whose choice is a click. */
export function menu(
  blockId: string,
  actionId: string,
  placeholder: string,
  options: readonly MenuOption[],
): ActionsBlock {
  return {
    type: 'actions',
    block_id: blockId,
    elements: [
      {
        type: 'static_select',
        action_id: actionId,
        placeholder: plainText(placeholder, LIMITS.placeholder),
        options: menuOptions(options),
      },
    ],
  };
}

/** The content of a cell: raw text, a person who is not pinged, or a moment in the reader's time zone. */
export type Cell = string | { readonly person: string } | { readonly moment: Date };

export interface Table {
  readonly caption: string;
  readonly columns: readonly string[];
  readonly rows: readonly (readonly Cell[])[];
  readonly pageSize?: number;
}

/** The most rows of one table; more belong on a next page. */
export const TABLE_ROWS = LIMITS.tableRows;

/**
 * A table with sorting and paging. Text in its cells is raw and has no markup. If the whole table would be too
 * long for Slack, the longest cells are cut.
 */
export function table({ caption, columns, rows, pageSize }: Table): DataTableBlock {
  const shown = cutTo(rows, TABLE_ROWS, 'rows');
  const texts = shown.flatMap((row) => row.filter((cell) => typeof cell === 'string'));
  const limit = cutToFit(
    texts.map((text) => text.length),
    LIMITS.tableText - columns.join('').length,
    LIMITS.cellText,
  );
  return {
    type: 'data_table',
    caption: truncate(caption, LIMITS.tableCaption),
    rows: [
      columns.map((title) => tableCell(title, limit)),
      ...shown.map((row) => row.map((cell) => tableCell(cell, limit))),
    ],
    page_size: Math.min(Math.max(pageSize ?? 10, 1), LIMITS.tableRows),
    row_header_column_index: 0,
  };
}

function tableCell(cell: Cell, limit: number): DataTableBlock['rows'][number][number] {
  if (typeof cell === 'string') {
    return {
      type: 'raw_text',
      text: truncate(cell === '' ? '–' : cell.replace(CONTROL, '').replace(/\s+/g, ' '), limit),
    };
  }
  const element: RichTextElement =
    'person' in cell
      ? { type: 'user', user_id: cell.person }
      : {
          type: 'date',
          timestamp: Math.floor(cell.moment.getTime() / 1_000),
          format: '{date_short_pretty} {time}',
          fallback: utcMinute(cell.moment),
        };
  return { type: 'rich_text', elements: [{ type: 'rich_text_section', elements: [element] }] };
}

/** The largest limit, up to `most`, at which texts of these lengths fit into `budget` together. */
function cutToFit(lengths: readonly number[], budget: number, most: number): number {
  const total = (limit: number) => lengths.reduce((sum, length) => sum + Math.min(length, limit), 0);
  let limit = most;
  while (limit > 10 && total(limit) > budget) limit = Math.floor(limit * 0.9);
  return limit;
}

/** A chart with a bar for each month. Bars beyond Slack's limit are left out. @param unit what is counted */
export function monthChart(
  title: string,
  unit: string,
  months: readonly { readonly label: string; readonly count: number }[],
): DataVisualizationBlock {
  const bars = months
    .slice(0, LIMITS.chartBars)
    .map(({ label, count: value }) => ({ label: truncate(label, LIMITS.chartLabel), value }));
  return {
    type: 'data_visualization',
    title: truncate(title, LIMITS.chartTitle),
    chart: {
      type: 'bar',
      series: [{ name: truncate(unit, LIMITS.chartLabel), data: bars }],
      axis_config: {
        categories: bars.map(({ label }) => label),
        x_label: 'Month',
        y_label: truncate(unit, LIMITS.chartTitle),
      },
    },
  };
}

/**
 * The same blocks with tables and charts as text, which a workspace may not support yet. Used for a second try
 * after Slack refused the blocks.
 */
export function withoutNewBlocks(blocks: readonly AnyBlock[]): AnyBlock[] {
  return withinLimit(
    blocks.flatMap((block): AnyBlock[] => {
      if (block.type === 'data_table') {
        const rows = block.rows.map((row) => row.map(cellAsText).join('  ·  '));
        return lines([`*${escapeText(block.caption)}*`, ...rows]);
      }
      if (block.type === 'data_visualization') {
        const bars = block.chart.series.flatMap(({ data }) => data);
        const largest = Math.max(1, ...bars.map(({ value }) => value));
        return lines([
          `*${escapeText(block.title)}*`,
          ...bars.map(
            ({ label, value }) =>
              `${'█'.repeat(Math.round((value / largest) * 12)) || '·'} ${escapeText(label)}: ${value}`,
          ),
        ]);
      }
      return [block];
    }),
  );
}

function cellAsText(cell: DataTableBlock['rows'][number][number]): string {
  if (cell.type !== 'rich_text') return escapeText(cell.text);
  return cell.elements
    .flatMap((part) => (part.type === 'rich_text_section' ? part.elements : []))
    .map((element) =>
      element.type === 'user'
        ? mention(element.user_id)
        : element.type === 'date'
          ? moment(new Date(element.timestamp * 1_000))
          : '',
    )
    .join('');
}

/**
 * The content of blocks as lines of mrkdwn, without their buttons. Used for the last try after Slack refused the
 * blocks.
 */
export function asText(blocks: readonly AnyBlock[]): string[] {
  return withoutNewBlocks(blocks).flatMap((block) => {
    if (block.type === 'header') return [`*${escapeText(block.text.text)}*`];
    return block.type === 'actions' ? [] : textsOf(block);
  });
}

/** Whether a message has blocks that {@link withoutNewBlocks} would change. */
export function hasNewBlocks(blocks: readonly AnyBlock[]): boolean {
  return blocks.some((block) => block.type === 'data_table' || block.type === 'data_visualization');
}

/** A plain sentence as a message. */
export function textMessage(text: string): Message {
  return message(text, [section(text)]);
}

/**
 * A message within Slack's limits, however long its quotations are.
 * @param text what notifications and screen readers say; mrkdwn whose foreign parts are escaped already
 */
export function message(text: string, blocks: readonly Maybe<AnyBlock>[]): Message {
  const all = present(blocks);
  return { text: plain(text), blocks: withinLimit(cutTo(all, LIMITS.messageBlocks, 'blocks')) };
}

/** Cuts the longest texts when a message exceeds Slack's limit on all of its text. */
function withinLimit(blocks: readonly AnyBlock[]): AnyBlock[] {
  const kept = blocks.slice(0, LIMITS.messageBlocks);
  const lengths = kept.flatMap(textsOf).map((text) => text.length);
  const limit = cutToFit(lengths, LIMITS.messageBlocksText, LIMITS.sectionText);
  return limit === LIMITS.sectionText ? kept : kept.map((block) => cutBlock(block, limit));
}

function textsOf(block: AnyBlock): string[] {
  if (block.type === 'header') return [block.text.text];
  if (block.type === 'section') {
    return [block.text, ...(block.fields ?? [])].flatMap((each) => (each === undefined ? [] : [each.text]));
  }
  if (block.type === 'context') return block.elements.flatMap((each) => ('text' in each ? [each.text] : []));
  if (block.type === 'actions') {
    return block.elements.flatMap((each) => (each.type === 'button' ? [each.text.text] : []));
  }
  return [];
}

/** All text that some blocks show, with the cells of tables. */
export function visibleText(blocks: readonly AnyBlock[]): string {
  return blocks
    .flatMap((block) =>
      block.type === 'data_table'
        ? block.rows.flat().map((cell) => (cell.type === 'rich_text' ? '' : String(cell.text)))
        : textsOf(block),
    )
    .join('\n');
}

function cutBlock(block: AnyBlock, limit: number): AnyBlock {
  if (block.type !== 'section') return block;
  const cut = <T extends { text: string }>(each: T): T => ({
    ...each,
    text: truncateMarkup(each.text, limit),
  });
  return {
    ...block,
    ...(block.text === undefined ? {} : { text: cut(block.text) }),
    ...(block.fields === undefined ? {} : { fields: block.fields.map(cut) }),
  };
}
