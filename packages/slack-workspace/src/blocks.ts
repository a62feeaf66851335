import { checkElement, checkImage } from './elements.ts';
import { LIMITS } from './limits.ts';
import { Checker, isObject, objectsOf, type Problem, textOf } from './problems.ts';
import type { Json, JsonObject } from './protocol.ts';

export type Surface = 'message' | 'modal' | 'home';

interface Kind {
  surfaces: readonly Surface[];
  fields: readonly string[];
  check(check: Checker, block: JsonObject, pointer: string): void;
}

const ALL: readonly Surface[] = ['message', 'modal', 'home'];

/** Slack's layout blocks with the surfaces they may stand on (docs.slack.dev, reference of blocks). */
const KINDS: Record<string, Kind> = {
  divider: { surfaces: ALL, fields: [], check: () => {} },
  header: {
    surfaces: ALL,
    fields: ['text'],
    check: (check, block, at) =>
      check.text(block, 'text', at, { max: LIMITS.header.text, plain: true, required: true }),
  },
  section: { surfaces: ALL, fields: ['text', 'fields', 'accessory', 'expand'], check: checkSection },
  context: { surfaces: ALL, fields: ['elements'], check: checkContext },
  actions: {
    surfaces: ALL,
    fields: ['elements'],
    check: (check, block, at) => {
      const elements = check.objects(block, 'elements', at, {
        min: 1,
        max: LIMITS.actions.elements,
        required: true,
      });
      for (const { item, at: place } of elements) checkElement(check, item, place, 'actions');
    },
  },
  image: {
    surfaces: ALL,
    fields: ['alt_text', 'image_url', 'slack_file', 'title'],
    check: (check, block, at) => {
      checkImage(check, block, at);
      check.text(block, 'title', at, { max: LIMITS.image.title, plain: true });
    },
  },
  input: {
    surfaces: ALL,
    fields: ['label', 'element', 'hint', 'optional', 'dispatch_action'],
    check: (check, block, at) => {
      check.text(block, 'label', at, { max: LIMITS.input.label, plain: true, required: true });
      check.text(block, 'hint', at, { max: LIMITS.input.hint, plain: true });
      check.boolean(block, 'optional', at);
      check.boolean(block, 'dispatch_action', at);
      const element = check.child(block, 'element', at, true);
      if (element) checkElement(check, element, `${at}/element`, 'input');
    },
  },
  markdown: {
    surfaces: ['message'],
    fields: ['text'],
    check: (check, block, at) => {
      check.string(block, 'text', at, { required: true, min: 1, max: LIMITS.block.markdown });
    },
  },
  rich_text: { surfaces: ALL, fields: ['elements'], check: checkRichText },
  alert: {
    surfaces: ['modal'],
    fields: ['text'],
    check: (check, block, at) => {
      check.text(block, 'text', at, { max: 3_000, required: true });
      check.string(block, 'level', at, { oneOf: ['default', 'info', 'warning', 'error', 'success'] });
    },
  },
  card: {
    surfaces: ALL,
    fields: ['hero_image', 'icon', 'slack_icon', 'title', 'subtitle', 'body', 'actions'],
    check: checkCard,
  },
  carousel: {
    surfaces: ['message', 'home'],
    fields: ['elements'],
    check: (check, block, at) => {
      const cards = check.objects(block, 'elements', at, {
        min: 1,
        max: LIMITS.carousel.cards,
        required: true,
      });
      for (const { item, at: place } of cards) checkCard(check, item, place);
    },
  },
  container: {
    surfaces: ALL,
    fields: [
      'title',
      'rich_text_title',
      'subtitle',
      'child_blocks',
      'width',
      'icon',
      'is_collapsible',
      'default_collapsed',
      'has_header_divider',
    ],
    check: (check, block, at) => {
      const { title, subtitle, children } = LIMITS.container;
      check.text(block, 'title', at, { max: title, plain: true });
      check.text(block, 'subtitle', at, { max: subtitle });
      if (!block['title'] && !block['rich_text_title']) check.add('missing required field: title', at);
      for (const { item, at: place } of check.objects(block, 'child_blocks', at, {
        max: children,
        required: true,
      })) {
        checkBlock(check, item, place, undefined);
      }
    },
  },
  context_actions: {
    surfaces: ['message'],
    fields: ['elements'],
    check: (check, block, at) => {
      check.objects(block, 'elements', at, { min: 1, max: LIMITS.contextActions.elements, required: true });
    },
  },
  table: { surfaces: ['message', 'home'], fields: ['rows', 'column_settings'], check: checkTable },
  data_table: {
    surfaces: ALL,
    fields: ['rows', 'caption', 'page_size', 'row_header_column_index'],
    check: checkDataTable,
  },
  data_visualization: { surfaces: ALL, fields: ['title', 'chart'], check: checkChart },
};

/**
 * Checks the blocks of a message or view against Slack's limits.
 *
 * @param pointer where the list stands, for example `/blocks` or `/view/blocks`.
 */
export function checkBlocks(blocks: Json, surface: Surface, pointer: string): Problem[] {
  const check = new Checker();
  const holder = { blocks };
  const max = surface === 'message' ? LIMITS.message.blocks : LIMITS.view.blocks;
  const base = pointer.replace(/\/blocks$/, '');
  const items = check.objects(holder, 'blocks', base, { max });
  const seen = new Set<string>();
  for (const { item, at } of items) {
    checkBlock(check, item, at, surface);
    const id = textOf(item, 'block_id');
    if (id !== undefined && seen.has(id)) check.add(`\`block_id\` must be unique: ${id}`, at);
    if (id !== undefined) seen.add(id);
  }
  const list = items.map(({ item }) => item);
  checkTogether(check, list, surface, pointer);
  return check.problems;
}

function checkBlock(check: Checker, block: JsonObject, at: string, surface: Surface | undefined): void {
  const type = textOf(block, 'type') ?? '';
  const kind = Object.hasOwn(KINDS, type) ? KINDS[type] : undefined;
  if (!kind || (surface && !kind.surfaces.includes(surface))) {
    check.add(`unsupported type: ${type || '(none)'}`, `${at}/type`);
    return;
  }
  check.string(block, 'block_id', at, { min: 1, max: LIMITS.block.blockId });
  check.onlyFields(block, ['type', 'block_id', ...kind.fields], at);
  kind.check(check, block, at);
  const actions = new Set<string>();
  for (const element of elementsOf(block)) {
    const id = textOf(element, 'action_id');
    if (id !== undefined && actions.has(id))
      check.add(`\`action_id\` must be unique in its block: ${id}`, at);
    if (id !== undefined) actions.add(id);
  }
}

/** The limits that hold for all blocks of one surface together. */
function checkTogether(check: Checker, blocks: JsonObject[], surface: Surface, pointer: string): void {
  const count = (type: string): number => blocks.filter((block) => block['type'] === type).length;
  if (count('data_visualization') > LIMITS.message.charts) {
    check.add(`no more than ${LIMITS.message.charts} data_visualization blocks allowed`, pointer);
  }
  if (count('table') > LIMITS.message.tables) check.add('only_one_table_allowed', pointer);
  for (const [type, max] of [
    ['table', LIMITS.table.text],
    ['data_table', LIMITS.dataTable.text],
  ] as const) {
    const tables = blocks.filter((block) => block['type'] === type);
    const total = tables.reduce((sum, block) => sum + cellsText(block), 0);
    if (total > max) check.add(`must be less than ${max + 1} characters in all cells`, pointer);
  }
  const markdown = blocks.filter((block) => block['type'] === 'markdown');
  const markdownText = markdown.reduce((sum, block) => sum + (textOf(block, 'text')?.length ?? 0), 0);
  if (markdownText > LIMITS.message.markdown) {
    check.add(`must be less than ${LIMITS.message.markdown + 1} characters in all markdown blocks`, pointer);
  }
  const focused = blocks.flatMap(elementsOf).filter((element) => element['focus_on_load'] === true);
  if (focused.length > 1) check.add('only one element may have `focus_on_load`', pointer);
  if (surface === 'home' && focused.length > 0) check.add('`focus_on_load` is for modals', pointer);
}

/** The interactive elements directly inside a block. */
export function elementsOf(block: JsonObject): JsonObject[] {
  const single = [block['accessory'], block['element']].filter(isObject);
  if (block['type'] === 'card') return objectsOf(block, 'actions');
  if (block['type'] === 'carousel') {
    return objectsOf(block, 'elements').flatMap((card) => objectsOf(card, 'actions'));
  }
  return block['type'] === 'actions' ? objectsOf(block, 'elements') : single;
}

/** All text a block shows, for the limit on a whole message; tables have their own. */
export function textLength(value: Json): number {
  if (Array.isArray(value)) return value.reduce<number>((sum, item) => sum + textLength(item), 0);
  if (!isObject(value) || value['type'] === 'table' || value['type'] === 'data_table') return 0;
  const own = typeof value['text'] === 'string' ? value['text'].length : 0;
  return Object.values(value).reduce<number>((sum, item) => sum + textLength(item), own);
}

function checkSection(check: Checker, block: JsonObject, at: string): void {
  if (block['text'] === undefined && block['fields'] === undefined) {
    check.add('must define either `text` or `fields`', at);
  }
  check.text(block, 'text', at, { max: LIMITS.section.text });
  for (const { item, at: place } of check.objects(block, 'fields', at, {
    min: 1,
    max: LIMITS.section.fields,
  })) {
    check.textObject(item, place, { max: LIMITS.section.fieldText });
  }
  check.boolean(block, 'expand', at);
  const accessory = check.child(block, 'accessory', at);
  if (accessory) checkElement(check, accessory, `${at}/accessory`, 'accessory');
}

function checkContext(check: Checker, block: JsonObject, at: string): void {
  const { elements: max, text } = LIMITS.context;
  for (const { item, at: place } of check.objects(block, 'elements', at, { min: 1, max, required: true })) {
    if (item['type'] === 'image') checkImage(check, item, place);
    else check.textObject(item, place, { max: text });
  }
}

function checkCard(check: Checker, card: JsonObject, at: string): void {
  const { title, subtitle, body, actions } = LIMITS.card;
  if (!['hero_image', 'title', 'body', 'actions'].some((field) => card[field] !== undefined)) {
    check.add('must define at least one of `hero_image`, `title`, `actions` and `body`', at);
  }
  check.text(card, 'title', at, { max: title });
  check.text(card, 'subtitle', at, { max: subtitle });
  check.text(card, 'body', at, { max: body });
  for (const { item, at: place } of check.objects(card, 'actions', at, { max: actions })) {
    checkElement(check, item, place, 'card');
  }
}

const RICH_BLOCKS = ['rich_text_section', 'rich_text_list', 'rich_text_preformatted', 'rich_text_quote'];
const RICH_ELEMENTS = [
  'text',
  'link',
  'user',
  'usergroup',
  'channel',
  'team',
  'emoji',
  'date',
  'broadcast',
  'color',
];

function checkRichText(check: Checker, block: JsonObject, at: string): void {
  for (const { item, at: place } of check.objects(block, 'elements', at, { max: 100, required: true })) {
    const type = check.string(item, 'type', place, { required: true, oneOf: RICH_BLOCKS });
    for (const { item: part, at: deep } of check.objects(item, 'elements', place, {
      max: 1_000,
      required: true,
    })) {
      if (type === 'rich_text_list') {
        check.string(part, 'type', deep, { required: true, oneOf: ['rich_text_section'] });
      } else {
        const kind = check.string(part, 'type', deep, { required: true, oneOf: RICH_ELEMENTS });
        if (kind === 'text') check.string(part, 'text', deep, { required: true, min: 1 });
        if (kind === 'link') check.string(part, 'url', deep, { required: true, min: 1 });
      }
    }
  }
}

function checkCells(check: Checker, rows: Json[], at: string, types: readonly string[], max: number): void {
  rows.forEach((row, index) => {
    const place = `${at}/rows`;
    for (const { item, at: cell } of check.objects({ [index]: row }, String(index), place, { min: 1, max })) {
      const type = check.string(item, 'type', cell, { required: true, oneOf: types });
      if (type === 'raw_text') check.string(item, 'text', cell, { required: true, min: 1 });
      if (type === 'raw_number') {
        if (typeof item['value'] !== 'number') check.add('missing required field: value', cell);
        check.string(item, 'text', cell, { required: true, min: 1 });
      }
      if (type === 'rich_text') checkRichText(check, item, cell);
    }
  });
}

function checkTable(check: Checker, block: JsonObject, at: string): void {
  const { rows: max, cells, columnSettings } = LIMITS.table;
  const rows = check.list(block, 'rows', at, { min: 1, max, required: true });
  checkCells(check, rows, at, ['raw_text', 'raw_number', 'rich_text'], cells);
  check.list(block, 'column_settings', at, { max: columnSettings });
}

function checkDataTable(check: Checker, block: JsonObject, at: string): void {
  const { minRows, rows: max, cells, pageSize } = LIMITS.dataTable;
  check.string(block, 'caption', at, { required: true, min: 1 });
  check.integer(block, 'page_size', at, 1, pageSize);
  const rows = check.list(block, 'rows', at, { min: minRows, max, required: true });
  checkCells(check, rows, at, ['raw_text', 'raw_number', 'rich_text', 'action'], cells);
  const widths = new Set(rows.map((row) => (Array.isArray(row) ? row.length : -1)));
  if (widths.size > 1) check.add('all rows must have the same number of cells', `${at}/rows`);
  const [header] = rows;
  if (Array.isArray(header)) {
    if (header.some((cell) => isObject(cell) && cell['type'] === 'rich_text')) {
      check.add('header cells cannot be rich_text', `${at}/rows/0`);
    }
    check.integer(block, 'row_header_column_index', at, 0, header.length - 1);
  }
}

function cellsText(block: JsonObject): number {
  const { rows } = block;
  const sum = (value: Json): number => {
    if (Array.isArray(value)) return value.reduce<number>((total, item) => total + sum(item), 0);
    if (!isObject(value)) return 0;
    const own = typeof value['text'] === 'string' ? value['text'].length : 0;
    return Object.values(value).reduce<number>((total, item) => total + sum(item), own);
  };
  return rows === undefined ? 0 : sum(rows);
}

function checkChart(check: Checker, block: JsonObject, at: string): void {
  const limits = LIMITS.chart;
  check.string(block, 'title', at, { required: true, min: 1, max: limits.title });
  const chart = check.child(block, 'chart', at, true);
  if (!chart) return;
  const place = `${at}/chart`;
  const type = check.string(chart, 'type', place, { required: true, oneOf: ['pie', 'bar', 'area', 'line'] });
  if (type === 'pie') {
    const segments = check.objects(chart, 'segments', place, {
      min: 1,
      max: limits.segments,
      required: true,
    });
    for (const { item, at: segment } of segments) checkPoint(check, item, segment, true);
    return;
  }
  const axis = check.child(chart, 'axis_config', place, true);
  const categories = axis
    ? check.list(axis, 'categories', `${place}/axis_config`, { min: 1, max: limits.points })
    : [];
  if (axis) {
    check.string(axis, 'x_label', `${place}/axis_config`, { max: limits.axisLabel });
    check.string(axis, 'y_label', `${place}/axis_config`, { max: limits.axisLabel });
  }
  const names = new Set<string>();
  for (const { item, at: series } of check.objects(chart, 'series', place, {
    min: 1,
    max: limits.series,
    required: true,
  })) {
    const name = check.string(item, 'name', series, { required: true, min: 1, max: limits.name }) ?? '';
    if (names.has(name)) check.add(`series names must be unique: ${name}`, series);
    names.add(name);
    const points = check.objects(item, 'data', series, { min: 1, max: limits.points, required: true });
    for (const { item: point, at: spot } of points) checkPoint(check, point, spot, false);
    const labels = points.map(({ item: point }) => point['label']);
    if (labels.length !== categories.length || categories.some((category) => !labels.includes(category))) {
      check.add('labels must be the categories of `axis_config`, each once', series);
    }
  }
}

function checkPoint(check: Checker, point: JsonObject, at: string, positive: boolean): void {
  check.string(point, 'label', at, { required: true, min: 1, max: LIMITS.chart.label });
  const { value } = point;
  if (typeof value !== 'number' || !Number.isFinite(value)) check.add('must be a number', `${at}/value`);
  else if (positive && value <= 0) check.add('must be more than 0', `${at}/value`);
}
