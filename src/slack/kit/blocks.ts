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
import { dropMissing, type Maybe } from '../../lib/collections.ts';
import {
  CONTROL_CHARACTERS,
  escapeText,
  formatLocalTime,
  formatUtcTime,
  LIMITS,
  mention,
  removeMarkup,
  splitMarkup,
  truncate,
  truncateMarkup,
} from './mrkdwn.ts';

export * from './mrkdwn.ts';

/** Slack's chart block, which is missing from `@slack/types`. */
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

type ListKind = 'blocks' | 'buttons' | 'elements' | 'options' | 'rows';
let onTruncated: (kind: ListKind, count: number, limit: number) => void = () => undefined;

/** In tests, truncation throws an error, because lists that can exceed Slack's limits must be paged. */
export function setTruncationHandler(handler: typeof onTruncated): void {
  onTruncated = handler;
}

function limitTo<T>(items: readonly T[], limit: number, kind: ListKind): readonly T[] {
  if (items.length > limit) onTruncated(kind, items.length, limit);
  return items.slice(0, limit);
}

/** Any block of a message. Views don't support charts. */
export type AnyBlock = KnownBlock | DataVisualizationBlock;

export interface Message {
  /** Text without markup, for notifications and screen readers. */
  readonly text: string;
  readonly blocks: readonly AnyBlock[];
  /** As mrkdwn. Added if Slack accepts the message only as text, without its buttons. */
  readonly textOnlyHint?: string;
}

export function plainText(text: string, limit: number = LIMITS.sectionText): PlainTextElement {
  return { type: 'plain_text', text: truncate(text, limit), emoji: true };
}

export function header(text: string): HeaderBlock {
  return { type: 'header', text: plainText(text, LIMITS.headerText) };
}

/** @param texts mrkdwn of one or more lines; untrusted text must be escaped */
export function section(...texts: readonly Maybe<string>[]): SectionBlock {
  const text = truncateMarkup(dropMissing(texts).join('\n'), LIMITS.sectionText);
  return { type: 'section', text: { type: 'mrkdwn', text, verbatim: true } };
}

const MAX_COLUMN_TEXT_LENGTH = 400;

/** A label and a value as mrkdwn. The field is left out if the value is undefined. */
export type SectionField = readonly [label: string, value: string | undefined];

/** Shows fields in two columns. Long fields take the full width to stay readable. */
export function sectionFields(fields: readonly SectionField[]): SectionBlock[] {
  const texts = fields.flatMap(([label, value]) => (value === undefined ? [] : [`*${label}*\n${value}`]));
  const shortTexts = texts.filter((text) => text.length <= MAX_COLUMN_TEXT_LENGTH);
  const sections: SectionBlock[] = [];
  for (let start = 0; start < shortTexts.length; start += LIMITS.sectionFields) {
    sections.push({
      type: 'section',
      fields: shortTexts
        .slice(start, start + LIMITS.sectionFields)
        .map((text) => ({ type: 'mrkdwn', text, verbatim: true })),
    });
  }
  const longTexts = texts.filter((text) => text.length > MAX_COLUMN_TEXT_LENGTH);
  return [...sections, ...longTexts.flatMap((text) => untruncatedSections(text.split('\n')))];
}

/** Joins lines into as few sections as possible. */
export function lineSections(lines: readonly Maybe<string>[]): SectionBlock[] {
  const parts: string[] = [];
  for (const line of dropMissing(lines)) {
    const last = parts.at(-1);
    if (last !== undefined && last.length + line.length < LIMITS.sectionText) {
      parts[parts.length - 1] = `${last}\n${line}`;
    } else parts.push(line);
  }
  return parts.map((part) => section(part));
}

/** Like {@link lineSections}, but continues long lines in the next section instead of truncating them. */
export function untruncatedSections(lines: readonly Maybe<string>[]): SectionBlock[] {
  return lineSections(dropMissing(lines).flatMap((line) => splitMarkup(line, LIMITS.sectionText)));
}

export function context(...texts: readonly Maybe<string>[]): ContextBlock {
  return {
    type: 'context',
    elements: limitTo(dropMissing(texts), LIMITS.contextElements, 'elements').map((text) => ({
      type: 'mrkdwn',
      text: truncateMarkup(text, LIMITS.fieldText),
      verbatim: true,
    })),
  };
}

export const divider: KnownBlock = { type: 'divider' };

/** @param value an id rather than content, because the data is loaded again after a click */
export function button(
  actionId: string,
  text: string,
  value: string,
  {
    style,
    label,
  }: {
    readonly style?: 'primary' | 'danger' | undefined;
    /** Read by screen readers, if the text alone isn't clear. */
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

/** Overflow menus that contain buttons. The value of an option is `<action id>:<value>`. */
const MENU_IDS = ['order_more', 'reminder_more', 'names_more', 'owner_question'] as const;
export type MenuId = (typeof MENU_IDS)[number];

/** @returns the chosen action id and value; undefined if the click wasn't in one of the menus */
export function parseMenuChoice(actionId: string, option: string): { id: string; value: string } | undefined {
  const colonIndex = option.indexOf(':');
  if (!MENU_IDS.some((menuId) => menuId === actionId) || colonIndex < 0) return undefined;
  return { id: option.slice(0, colonIndex), value: option.slice(colonIndex + 1) };
}

/** Whether the values are within Slack's limit for menu options. */
export function fitsMenu(buttons: readonly Button[]): boolean {
  return buttons.every(({ action_id, value = '' }) => `${action_id}:${value}`.length <= LIMITS.optionValue);
}

/** Puts buttons into a ⋯ menu. @returns undefined if there are no buttons */
export function overflowMenu(menuId: MenuId, buttons: readonly Maybe<Button>[]): Overflow | undefined {
  const presentButtons = dropMissing(buttons);
  if (presentButtons.length > LIMITS.overflowOptions)
    throw new Error(`too many buttons in the menu ${menuId}`);
  if (presentButtons.length === 0) return undefined;
  const options = presentButtons.map(({ action_id, text, value }) => ({
    text: plainText(text.text, LIMITS.optionText),
    value: `${action_id}:${value}`,
  }));
  return { type: 'overflow', action_id: menuId, options };
}

export function addMenu(block: SectionBlock, blockId: string, overflow: Overflow | undefined): SectionBlock {
  return { ...block, block_id: blockId, ...(overflow === undefined ? {} : { accessory: overflow }) };
}

export function hasAction(blocks: readonly AnyBlock[], actionId: string): boolean {
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

/** @returns an empty list if there are no buttons */
export function actions(blockId: string, buttons: readonly Maybe<Button | Overflow>[]): ActionsBlock[] {
  const elements = [...limitTo(dropMissing(buttons), LIMITS.actionElements, 'buttons')];
  return elements.length === 0 ? [] : [{ type: 'actions', block_id: blockId, elements }];
}

export interface MenuOption {
  readonly value: string;
  readonly text: string;
}

/** Drops options beyond Slack's limit. */
export function menuOptions(options: readonly MenuOption[]): PlainTextOption[] {
  return limitTo(options, LIMITS.options, 'options').map(({ value, text }) => ({
    text: plainText(text, LIMITS.optionText),
    value,
  }));
}

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

/** Plain text, a person who isn't notified, or a time in the reader's time zone. */
export type Cell = string | { readonly person: string } | { readonly moment: Date };

export interface Table {
  readonly caption: string;
  readonly columns: readonly string[];
  readonly rows: readonly (readonly Cell[])[];
  readonly pageSize?: number;
}

/** Longer lists are split into pages with a table each. */
export const MAX_TABLE_ROWS = LIMITS.tableRows;

/**
 * Builds a table that readers can sort and page. Cells don't need escaping. Truncates the longest cells if
 * the table exceeds Slack's limit.
 */
export function table({ caption, columns, rows, pageSize }: Table): DataTableBlock {
  const shownRows = limitTo(rows, MAX_TABLE_ROWS, 'rows');
  const texts = shownRows.flatMap((row) => row.filter((cell) => typeof cell === 'string'));
  const limit = findFittingLength(
    texts.map((text) => text.length),
    LIMITS.tableText - columns.join('').length,
    LIMITS.cellText,
  );
  return {
    type: 'data_table',
    caption: truncate(caption, LIMITS.tableCaption),
    rows: [
      columns.map((title) => tableCell(title, limit)),
      ...shownRows.map((row) => row.map((cell) => tableCell(cell, limit))),
    ],
    page_size: Math.min(Math.max(pageSize ?? 10, 1), LIMITS.tableRows),
    row_header_column_index: 0,
  };
}

function tableCell(cell: Cell, limit: number): DataTableBlock['rows'][number][number] {
  if (typeof cell === 'string') {
    return {
      type: 'raw_text',
      text: truncate(cell === '' ? '–' : cell.replace(CONTROL_CHARACTERS, '').replace(/\s+/g, ' '), limit),
    };
  }
  const element: RichTextElement =
    'person' in cell
      ? { type: 'user', user_id: cell.person }
      : {
          type: 'date',
          timestamp: Math.floor(cell.moment.getTime() / 1_000),
          format: '{date_short_pretty} {time}',
          fallback: formatUtcTime(cell.moment),
        };
  return { type: 'rich_text', elements: [{ type: 'rich_text_section', elements: [element] }] };
}

/** Finds a length limit, at most `max`, so that the truncated texts fit into `totalLimit` together. */
function findFittingLength(lengths: readonly number[], totalLimit: number, max: number): number {
  const computeTotal = (limit: number) => lengths.reduce((sum, length) => sum + Math.min(length, limit), 0);
  let limit = max;
  while (limit > 10 && computeTotal(limit) > totalLimit) limit = Math.floor(limit * 0.9);
  return limit;
}

/** Shows one bar per month. Drops bars beyond Slack's limit. */
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

/** Replaces tables and charts with text, because some workspaces don't support them. */
export function replaceTablesAndCharts(blocks: readonly AnyBlock[]): AnyBlock[] {
  return truncateToMessageLimits(
    blocks.flatMap((block): AnyBlock[] => {
      if (block.type === 'data_table') {
        const rows = block.rows.map((row) => row.map(cellToText).join('  ·  '));
        return lineSections([`*${escapeText(block.caption)}*`, ...rows]);
      }
      if (block.type === 'data_visualization') {
        const bars = block.chart.series.flatMap(({ data }) => data);
        const largest = Math.max(1, ...bars.map(({ value }) => value));
        return lineSections([
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

function cellToText(cell: DataTableBlock['rows'][number][number]): string {
  if (cell.type !== 'rich_text') return escapeText(cell.text);
  return cell.elements
    .flatMap((part) => (part.type === 'rich_text_section' ? part.elements : []))
    .map((element) =>
      element.type === 'user'
        ? mention(element.user_id)
        : element.type === 'date'
          ? formatLocalTime(new Date(element.timestamp * 1_000))
          : '',
    )
    .join('');
}

/** Converts blocks to lines of mrkdwn, without buttons. */
export function blocksToLines(blocks: readonly AnyBlock[]): string[] {
  return replaceTablesAndCharts(blocks).flatMap((block) => {
    if (block.type === 'header') return [`*${escapeText(block.text.text)}*`];
    return block.type === 'actions' ? [] : listTexts(block);
  });
}

export function hasTablesOrCharts(blocks: readonly AnyBlock[]): boolean {
  return blocks.some((block) => block.type === 'data_table' || block.type === 'data_visualization');
}

export function textMessage(text: string): Message {
  return message(text, [section(text)]);
}

/**
 * Truncates the longest texts if the message exceeds Slack's limits.
 * @param text for notifications and screen readers; mrkdwn in which untrusted text is escaped
 */
export function message(text: string, blocks: readonly Maybe<AnyBlock>[]): Message {
  const presentBlocks = dropMissing(blocks);
  return {
    text: removeMarkup(text),
    blocks: truncateToMessageLimits(limitTo(presentBlocks, LIMITS.messageBlocks, 'blocks')),
  };
}

function truncateToMessageLimits(blocks: readonly AnyBlock[]): AnyBlock[] {
  const keptBlocks = blocks.slice(0, LIMITS.messageBlocks);
  const lengths = keptBlocks.flatMap(listTexts).map((text) => text.length);
  const limit = findFittingLength(lengths, LIMITS.messageBlocksText, LIMITS.sectionText);
  return limit === LIMITS.sectionText ? keptBlocks : keptBlocks.map((block) => truncateSection(block, limit));
}

function listTexts(block: AnyBlock): string[] {
  if (block.type === 'header') return [block.text.text];
  if (block.type === 'section') {
    return [block.text, ...(block.fields ?? [])].flatMap((part) => (part === undefined ? [] : [part.text]));
  }
  if (block.type === 'context') return block.elements.flatMap((part) => ('text' in part ? [part.text] : []));
  if (block.type === 'actions') {
    return block.elements.flatMap((part) => (part.type === 'button' ? [part.text.text] : []));
  }
  return [];
}

export function getVisibleText(blocks: readonly AnyBlock[]): string {
  return blocks
    .flatMap((block) =>
      block.type === 'data_table'
        ? block.rows.flat().map((cell) => (cell.type === 'rich_text' ? '' : String(cell.text)))
        : listTexts(block),
    )
    .join('\n');
}

function truncateSection(block: AnyBlock, limit: number): AnyBlock {
  if (block.type !== 'section') return block;
  const truncatePart = <T extends { text: string }>(part: T): T => ({
    ...part,
    text: truncateMarkup(part.text, limit),
  });
  return {
    ...block,
    ...(block.text === undefined ? {} : { text: truncatePart(block.text) }),
    ...(block.fields === undefined ? {} : { fields: block.fields.map(truncatePart) }),
  };
}
