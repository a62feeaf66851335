import type {
  ActionsBlock,
  Button,
  ContextBlock,
  KnownBlock,
  PlainTextElement,
  SectionBlock,
} from '@slack/types';

/*
 * The one place that knows Slack's text rules and limits: everything that a person or the service said goes
 * through `escapeText` before it stands in a message.
 */

/** Limits of Block Kit, in characters and counts. https://docs.slack.dev/reference/block-kit */
export const LIMITS = {
  messageBlocks: 50,
  viewBlocks: 100,
  sectionText: 3_000,
  sectionFields: 10,
  fieldText: 2_000,
  headerText: 150,
  buttonText: 75,
  buttonValue: 2_000,
  contextElements: 10,
  actions: 25,
  options: 100,
  optionText: 75,
  title: 24,
  submit: 24,
  label: 2_000,
  hint: 2_000,
  placeholder: 150,
  messageText: 4_000,
  privateMetadata: 3_000,
  inputValue: 3_000,
} as const;

/** A block of a chart; not in `@slack/types` yet. */
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

/** What a message or a view is made of. */
export type AnyBlock = KnownBlock | DataVisualizationBlock;

/** Text and blocks of one message. */
export interface Message {
  /** What notifications and screen readers say; no markup. */
  readonly text: string;
  readonly blocks: readonly AnyBlock[];
}

/** Cuts a text at a limit, with an ellipsis in place of the rest, and never through a surrogate pair. */
export function truncate(text: string, limit: number): string {
  if (text.length <= limit) return text;
  const cut = text.slice(0, limit - 1);
  return `${/[\uD800-\uDBFF]$/.test(cut) ? cut.slice(0, -1) : cut}…`;
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is taken out
const CONTROL = /[\u0000-\u0008\u000b-\u001f\u007f\u200b\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

/**
 * Makes somebody's words harmless in mrkdwn: no mention, no link, no markup, no hidden direction marks.
 * https://docs.slack.dev/messaging/formatting-message-text#escaping
 */
export function escapeText(text: string): string {
  return (
    text
      .replace(CONTROL, '')
      .replaceAll('&', '&amp;')
      .replaceAll('<', '&lt;')
      .replaceAll('>', '&gt;')
      // A word joiner keeps Slack from reading markup and from turning "@here" into a mention.
      .replace(/([*~`]|(?<![\p{L}\d])_|_(?![\p{L}\d])|@(?=here|channel|everyone))/gu, '\u2060$1\u2060')
  );
}

/** Somebody's words on one line, cut to a length, harmless. */
export function quote(text: string, limit = 300): string {
  return escapeText(truncate(text.replace(/\s+/g, ' ').trim(), limit));
}

/** A name, id or code in code style, harmless. A backtick cannot be escaped inside, so it is replaced. */
export function code(text: string): string {
  const inside = truncate(text.replace(CONTROL, '').replaceAll('`', 'ˋ'), 300)
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;');
  return `\`${inside}\``;
}

/** A mention of a person. Pings them, so only for those whom a message is for. */
export function mention(userId: string): string {
  return /^[UW][A-Z0-9]+$/.test(userId) ? `<@${userId}>` : 'the bot';
}

/** A mention of a user group or a person, as they stand in the approver list. */
export function mentionApprover(id: string): string {
  return id.startsWith('S') ? `<!subteam^${id}>` : mention(id);
}

/**
 * A moment in the reader's own time zone.
 * https://docs.slack.dev/messaging/formatting-message-text#date-formatting
 */
export function moment(at: Date): string {
  const fallback = `${at.toISOString().slice(0, 16).replace('T', ' ')} UTC`;
  return `<!date^${Math.floor(at.getTime() / 1_000)}^{date_short_pretty} {time}|${fallback}>`;
}

/** A day, written out, the same for every reader: an expiry belongs to the zone, not to the reader. */
export function day(at: Date): string {
  return at.toLocaleDateString('en-GB', { day: 'numeric', month: 'short', year: 'numeric', timeZone: 'UTC' });
}

/** `1 year`, `3 names`. */
export function count(amount: number, noun: string): string {
  return `${amount} ${noun}${amount === 1 ? '' : 's'}`;
}

export function plainText(text: string, limit: number = LIMITS.sectionText): PlainTextElement {
  return { type: 'plain_text', text: truncate(text, limit), emoji: true };
}

export function header(text: string): KnownBlock {
  return { type: 'header', text: plainText(text, LIMITS.headerText) };
}

/** @param text mrkdwn whose foreign parts are escaped already */
export function section(text: string, accessory?: Button): SectionBlock {
  return {
    type: 'section',
    text: { type: 'mrkdwn', text: truncate(text, LIMITS.sectionText), verbatim: true },
    ...(accessory === undefined ? {} : { accessory }),
  };
}

/** Facts in two columns; at most ten a section, so as many sections as it takes. */
export function facts(pairs: readonly (readonly [label: string, value: string])[]): SectionBlock[] {
  const sections: SectionBlock[] = [];
  for (let from = 0; from < pairs.length; from += LIMITS.sectionFields) {
    sections.push({
      type: 'section',
      fields: pairs.slice(from, from + LIMITS.sectionFields).map(([label, value]) => ({
        type: 'mrkdwn',
        text: truncate(`*${label}*\n${value}`, LIMITS.fieldText),
        verbatim: true,
      })),
    });
  }
  return sections;
}

export function context(...texts: readonly string[]): ContextBlock {
  return {
    type: 'context',
    elements: texts.slice(0, LIMITS.contextElements).map((text) => ({
      type: 'mrkdwn',
      text: truncate(text, LIMITS.fieldText),
      verbatim: true,
    })),
  };
}

export const divider: KnownBlock = { type: 'divider' };

export interface ButtonOptions {
  readonly actionId: string;
  readonly text: string;
  /** An id, never content: on a click everything is read again. */
  readonly value: string;
  readonly style?: 'primary' | 'danger';
  /** Asks before it acts. */
  readonly confirm?: { readonly title: string; readonly text: string; readonly yes: string };
  /** What a screen reader says, where the text alone does not tell which thing it is about. */
  readonly label?: string;
}

export function button(options: ButtonOptions): Button {
  const { confirm } = options;
  return {
    type: 'button',
    action_id: options.actionId,
    text: plainText(options.text, LIMITS.buttonText),
    value: options.value,
    ...(options.style === undefined ? {} : { style: options.style }),
    ...(options.label === undefined
      ? {}
      : { accessibility_label: truncate(options.label, LIMITS.buttonText) }),
    ...(confirm === undefined
      ? {}
      : {
          confirm: {
            title: plainText(confirm.title, 100),
            text: plainText(confirm.text, 300),
            confirm: plainText(confirm.yes, 30),
            deny: plainText('Back', 30),
          },
        }),
  };
}

/** A row of buttons; nothing when there is none. */
export function actions(blockId: string, buttons: readonly Button[]): ActionsBlock[] {
  return buttons.length === 0
    ? []
    : [{ type: 'actions', block_id: blockId, elements: buttons.slice(0, LIMITS.actions) }];
}

export interface Table {
  readonly caption: string;
  readonly columns: readonly string[];
  readonly rows: readonly (readonly string[])[];
  readonly pageSize?: number;
}

/** Rows that one table shows; more belong on a next page of ours. */
export const TABLE_ROWS = 100;

/** A table with sorting and paging. Cells are raw text: nothing in them is markup. */
export function table({ caption, columns, rows, pageSize }: Table): AnyBlock {
  const cell = (text: string) => ({
    type: 'raw_text' as const,
    text: truncate(text === '' ? '–' : text, 300),
  });
  return {
    type: 'data_table',
    caption: truncate(caption, 150),
    rows: [columns.map(cell), ...rows.slice(0, TABLE_ROWS).map((row) => row.map(cell))],
    page_size: Math.min(Math.max(pageSize ?? 10, 1), 100),
    row_header_column_index: 0,
  };
}

export interface BarChart {
  readonly title: string;
  readonly series: string;
  readonly bars: readonly { readonly label: string; readonly value: number }[];
  readonly xLabel: string;
  readonly yLabel: string;
}

/** A bar chart of up to 20 bars. */
export function barChart(chart: BarChart): DataVisualizationBlock {
  const bars = chart.bars.slice(0, 20).map(({ label, value }) => ({ label: truncate(label, 20), value }));
  return {
    type: 'data_visualization',
    title: truncate(chart.title, 50),
    chart: {
      type: 'bar',
      series: [{ name: truncate(chart.series, 20), data: bars }],
      axis_config: {
        categories: bars.map(({ label }) => label),
        x_label: truncate(chart.xLabel, 50),
        y_label: truncate(chart.yLabel, 50),
      },
    },
  };
}

/**
 * The same blocks without those that a workspace may not know yet: tables and charts become text.
 * For the second try after Slack answered `invalid_blocks`.
 */
export function withoutNewBlocks(blocks: readonly AnyBlock[]): AnyBlock[] {
  return blocks.map((block) => {
    if (block.type === 'data_table') {
      const lines = block.rows.map((row) =>
        row.map((cell) => ('text' in cell ? escapeText(cell.text) : '')).join('  ·  '),
      );
      return section([`*${escapeText(block.caption)}*`, ...lines].join('\n'));
    }
    if (block.type === 'data_visualization') {
      const bars = block.chart.series.flatMap(({ data }) => data);
      const largest = Math.max(1, ...bars.map(({ value }) => value));
      const lines = bars.map(
        ({ label, value }) =>
          `${'█'.repeat(Math.round((value / largest) * 12)) || '·'} ${escapeText(label)}: ${value}`,
      );
      return section([`*${escapeText(block.title)}*`, ...lines].join('\n'));
    }
    return block;
  });
}

/** Whether a message has blocks that {@link withoutNewBlocks} would change. */
export function hasNewBlocks(blocks: readonly AnyBlock[]): boolean {
  return blocks.some((block) => block.type === 'data_table' || block.type === 'data_visualization');
}

/** A plain sentence as a message. */
export function say(text: string): Message {
  return { text: plain(text), blocks: [section(text)] };
}

/** Markup taken out, for notifications. */
export function plain(mrkdwn: string): string {
  return truncate(mrkdwn.replace(/[*`\u2060]/g, ''), LIMITS.messageText);
}
