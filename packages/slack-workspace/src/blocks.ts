import { checkElement } from './elements.ts';
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

/** Layout blocks that this workspace supports, with their surfaces (docs.slack.dev, reference of blocks). */
const KINDS: Readonly<Record<string, Kind>> = {
  divider: { surfaces: ALL, fields: [], check: () => {} },
  header: {
    surfaces: ALL,
    fields: ['text'],
    check: (check, block, at) =>
      check.text(block, 'text', at, { max: LIMITS.header.text, plain: true, required: true }),
  },
  section: { surfaces: ALL, fields: ['text', 'fields', 'accessory'], check: checkSection },
  context: {
    surfaces: ALL,
    fields: ['elements'],
    check: (check, block, at) => {
      const { elements: max, text } = LIMITS.context;
      const elements = check.objects(block, 'elements', at, { min: 1, max, required: true });
      for (const { item, at: place } of elements) check.textObject(item, place, { max: text });
    },
  },
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
  input: {
    surfaces: ['modal'],
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
  rich_text: { surfaces: ALL, fields: ['elements'], check: checkRichText },
  data_table: {
    surfaces: ALL,
    fields: ['rows', 'caption', 'page_size', 'row_header_column_index'],
    check: checkDataTable,
  },
  data_visualization: { surfaces: ['message'], fields: ['title', 'chart'], check: checkChart },
};

/** Blocks that Slack accepts only on certain surfaces (docs.slack.dev, `blocks.json`). */
const ONLY_ON: Readonly<Record<string, readonly Surface[]>> = {
  alert: ['modal'],
  carousel: ['message', 'home'],
  container: ['message'],
  context_actions: ['message'],
  data_visualization: ['message'],
  file: ['message'],
  markdown: ['message'],
  plan: ['message'],
  table: ['message'],
  task_card: ['message'],
};

/**
 * Checks the blocks of a message or view: whether this workspace supports them, and Slack's limits.
 * @param pointer where the list is, for example `/blocks` or `/view/blocks`
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
  checkTogether(check, list, pointer);
  return check.problems;
}

function checkBlock(check: Checker, block: JsonObject, at: string, surface: Surface): void {
  const type = textOf(block, 'type') ?? '';
  const kind = Object.hasOwn(KINDS, type) ? KINDS[type] : undefined;
  const documented = Object.hasOwn(ONLY_ON, type) ? ONLY_ON[type] : undefined;
  if (documented && !documented.includes(surface)) {
    check.add(`unsupported type: ${type}`, `${at}/type`);
    return;
  }
  if (!kind?.surfaces.includes(surface)) {
    check.unsupported(`the block \`${type}\` on the surface \`${surface}\``, `${at}/type`);
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

/** Checks the limits on all blocks of a surface together. */
function checkTogether(check: Checker, blocks: JsonObject[], pointer: string): void {
  const ofType = (type: string): JsonObject[] => blocks.filter((block) => block['type'] === type);
  if (ofType('data_visualization').length > LIMITS.message.charts) {
    check.add(`no more than ${LIMITS.message.charts} data_visualization blocks allowed`, pointer);
  }
  const cells = ofType('data_table').reduce((sum, block) => sum + cellsText(block), 0);
  if (cells > LIMITS.dataTable.text) {
    check.add(`must be less than ${LIMITS.dataTable.text + 1} characters in all cells`, pointer);
  }
}

/** The interactive elements directly in a block. */
export function elementsOf(block: JsonObject): JsonObject[] {
  if (block['type'] === 'actions') return objectsOf(block, 'elements');
  const single = block[block['type'] === 'section' ? 'accessory' : 'element'];
  return isObject(single) ? [single] : [];
}

/** The length of all text in a block, for the limit on a whole message. Tables have their own limit. */
export function textLength(value: Json): number {
  if (Array.isArray(value)) return value.reduce<number>((sum, item) => sum + textLength(item), 0);
  if (!isObject(value) || value['type'] === 'data_table') return 0;
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
  const accessory = check.child(block, 'accessory', at);
  if (accessory) checkElement(check, accessory, `${at}/accessory`, 'section');
}

/** The pieces that each type of rich text may contain. */
const RICH_BLOCKS: Readonly<Record<string, readonly string[]>> = {
  rich_text_section: ['text', 'user', 'date'],
  rich_text_preformatted: ['text'],
};
/** The required fields of each piece of rich text, with their types. */
const RICH_PIECES: Readonly<Record<string, Readonly<Record<string, 'string' | 'number'>>>> = {
  text: { text: 'string' },
  user: { user_id: 'string' },
  date: { timestamp: 'number', format: 'string', fallback: 'string' },
};

function checkRichText(check: Checker, block: JsonObject, at: string): void {
  for (const { item, at: place } of check.objects(block, 'elements', at, { max: 100, required: true })) {
    const type = textOf(item, 'type') ?? '';
    const pieces = Object.hasOwn(RICH_BLOCKS, type) ? RICH_BLOCKS[type] : undefined;
    if (!pieces) {
      check.unsupported(`\`${type}\` in rich text`, `${place}/type`);
      continue;
    }
    check.onlyFields(item, ['type', 'elements'], place);
    const elements = check.objects(item, 'elements', place, { max: 1_000, required: true });
    for (const { item: piece, at: deep } of elements) checkPiece(check, piece, deep, pieces);
  }
}

function checkPiece(check: Checker, piece: JsonObject, at: string, taken: readonly string[]): void {
  const type = textOf(piece, 'type') ?? '';
  const fields = Object.hasOwn(RICH_PIECES, type) ? RICH_PIECES[type] : undefined;
  if (!fields || !taken.includes(type)) {
    check.unsupported(`\`${type}\` in this part of rich text`, `${at}/type`);
    return;
  }
  check.onlyFields(piece, ['type', ...Object.keys(fields)], at);
  for (const [field, kind] of Object.entries(fields)) {
    if (kind === 'string') check.string(piece, field, at, { required: true, min: 1 });
    else if (typeof piece[field] !== 'number') check.add(`missing required field: ${field}`, at);
  }
}

function checkCells(check: Checker, rows: Json[], at: string): void {
  rows.forEach((row, index) => {
    const size = { min: 1, max: LIMITS.dataTable.cells };
    for (const { item, at: cell } of check.objects({ [index]: row }, String(index), `${at}/rows`, size)) {
      const type = textOf(item, 'type') ?? '';
      if (type === 'raw_text') {
        check.onlyFields(item, ['type', 'text'], cell);
        check.string(item, 'text', cell, { required: true, min: 1 });
      } else if (type === 'rich_text') checkRichText(check, item, cell);
      else check.unsupported(`a cell of the type \`${type}\``, `${cell}/type`);
    }
  });
}

function checkDataTable(check: Checker, block: JsonObject, at: string): void {
  const { minRows, rows: max, pageSize } = LIMITS.dataTable;
  check.string(block, 'caption', at, { required: true, min: 1 });
  check.integer(block, 'page_size', at, 1, pageSize);
  const rows = check.list(block, 'rows', at, { min: minRows, max, required: true });
  checkCells(check, rows, at);
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
  return block['rows'] === undefined ? 0 : textLength(block['rows']);
}

function checkChart(check: Checker, block: JsonObject, at: string): void {
  const limits = LIMITS.chart;
  check.string(block, 'title', at, { required: true, min: 1, max: limits.title });
  const chart = check.child(block, 'chart', at, true);
  if (!chart) return;
  const place = `${at}/chart`;
  const type = textOf(chart, 'type') ?? '';
  if (type !== 'bar') {
    check.unsupported(`a chart of the type \`${type}\``, `${place}/type`);
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
  const all = check.objects(chart, 'series', place, { min: 1, max: limits.series, required: true });
  if (all.length > 1) check.unsupported('a chart of several series', `${place}/series`);
  for (const { item, at: series } of all) {
    check.string(item, 'name', series, { required: true, min: 1, max: limits.name });
    const points = check.objects(item, 'data', series, { min: 1, max: limits.points, required: true });
    for (const { item: point, at: spot } of points) checkPoint(check, point, spot);
    const labels = points.map(({ item: point }) => point['label']);
    if (labels.length !== categories.length || categories.some((category) => !labels.includes(category))) {
      check.add('labels must be the categories of `axis_config`, each once', series);
    }
  }
}

function checkPoint(check: Checker, point: JsonObject, at: string): void {
  check.string(point, 'label', at, { required: true, min: 1, max: LIMITS.chart.label });
  const { value } = point;
  if (typeof value !== 'number' || !Number.isFinite(value)) check.add('must be a number', `${at}/value`);
}
