import { checkElement } from './elements.ts';
import { LIMITS } from './limits.ts';
import { Checker, getObjects, getString, isObject, type Problem } from './problems.ts';
import type { Json, JsonObject } from './protocol.ts';

export type Surface = 'message' | 'modal' | 'home';

interface BlockKind {
  surfaces: readonly Surface[];
  fields: readonly string[];
  checkFields(check: Checker, block: JsonObject, pointer: string): void;
}

const ALL_SURFACES: readonly Surface[] = ['message', 'modal', 'home'];

/** Layout blocks that this workspace supports, by type (docs.slack.dev, blocks reference). */
const BLOCK_KINDS: Readonly<Record<string, BlockKind>> = {
  divider: { surfaces: ALL_SURFACES, fields: [], checkFields: () => {} },
  header: {
    surfaces: ALL_SURFACES,
    fields: ['text'],
    checkFields: (check, block, pointer) =>
      check.text(block, 'text', pointer, { max: LIMITS.header.text, plain: true, required: true }),
  },
  section: { surfaces: ALL_SURFACES, fields: ['text', 'fields', 'accessory'], checkFields: checkSection },
  context: {
    surfaces: ALL_SURFACES,
    fields: ['elements'],
    checkFields: (check, block, pointer) => {
      const { elements: max, text } = LIMITS.context;
      const elements = check.objects(block, 'elements', pointer, { min: 1, max, required: true });
      for (const { item, pointer: itemPointer } of elements)
        check.textObject(item, itemPointer, { max: text });
    },
  },
  actions: {
    surfaces: ALL_SURFACES,
    fields: ['elements'],
    checkFields: (check, block, pointer) => {
      const elements = check.objects(block, 'elements', pointer, {
        min: 1,
        max: LIMITS.actions.elements,
        required: true,
      });
      for (const { item, pointer: itemPointer } of elements)
        checkElement(check, item, itemPointer, 'actions');
    },
  },
  input: {
    surfaces: ['modal'],
    fields: ['label', 'element', 'hint', 'optional', 'dispatch_action'],
    checkFields: (check, block, pointer) => {
      check.text(block, 'label', pointer, { max: LIMITS.input.label, plain: true, required: true });
      check.text(block, 'hint', pointer, { max: LIMITS.input.hint, plain: true });
      check.boolean(block, 'optional', pointer);
      check.boolean(block, 'dispatch_action', pointer);
      const element = check.child(block, 'element', pointer, true);
      if (element) checkElement(check, element, `${pointer}/element`, 'input');
    },
  },
  rich_text: { surfaces: ALL_SURFACES, fields: ['elements'], checkFields: checkRichText },
  data_table: {
    surfaces: ALL_SURFACES,
    fields: ['rows', 'caption', 'page_size', 'row_header_column_index'],
    checkFields: checkDataTable,
  },
  data_visualization: { surfaces: ['message'], fields: ['title', 'chart'], checkFields: checkChart },
};

/** Blocks that Slack accepts only on certain surfaces (docs.slack.dev, `blocks.json`). */
const SLACK_SURFACES_BY_TYPE: Readonly<Record<string, readonly Surface[]>> = {
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
 * Checks that this workspace supports the blocks of a message or view, and that they are within Slack's limits.
 * @param pointer the position of the list, for example `/blocks` or `/view/blocks`
 */
export function checkBlocks(blocks: Json, surface: Surface, pointer: string): Problem[] {
  const check = new Checker();
  const max = surface === 'message' ? LIMITS.message.blocks : LIMITS.view.blocks;
  const parentPointer = pointer.replace(/\/blocks$/, '');
  const items = check.objects({ blocks }, 'blocks', parentPointer, { max });
  const blockIds = new Set<string>();
  for (const { item, pointer: itemPointer } of items) {
    checkBlock(check, item, itemPointer, surface);
    const id = getString(item, 'block_id');
    if (id !== undefined && blockIds.has(id)) check.add(`\`block_id\` must be unique: ${id}`, itemPointer);
    if (id !== undefined) blockIds.add(id);
  }
  const validBlocks = items.map(({ item }) => item);
  checkTotalLimits(check, validBlocks, pointer);
  return check.problems;
}

function checkBlock(check: Checker, block: JsonObject, pointer: string, surface: Surface): void {
  const type = getString(block, 'type') ?? '';
  const kind = Object.hasOwn(BLOCK_KINDS, type) ? BLOCK_KINDS[type] : undefined;
  const slackSurfaces = Object.hasOwn(SLACK_SURFACES_BY_TYPE, type)
    ? SLACK_SURFACES_BY_TYPE[type]
    : undefined;
  if (slackSurfaces && !slackSurfaces.includes(surface)) {
    check.add(`unsupported type: ${type}`, `${pointer}/type`);
    return;
  }
  if (!kind?.surfaces.includes(surface)) {
    check.addUnsupported(`the block \`${type}\` on the surface \`${surface}\``, `${pointer}/type`);
    return;
  }
  check.string(block, 'block_id', pointer, { min: 1, max: LIMITS.block.blockId });
  check.rejectUnknownFields(block, ['type', 'block_id', ...kind.fields], pointer);
  kind.checkFields(check, block, pointer);
  const actionIds = new Set<string>();
  for (const element of elementsOf(block)) {
    const id = getString(element, 'action_id');
    if (id !== undefined && actionIds.has(id))
      check.add(`\`action_id\` must be unique in its block: ${id}`, pointer);
    if (id !== undefined) actionIds.add(id);
  }
}

function checkTotalLimits(check: Checker, blocks: JsonObject[], pointer: string): void {
  const blocksOfType = (type: string): JsonObject[] => blocks.filter((block) => block['type'] === type);
  if (blocksOfType('data_visualization').length > LIMITS.message.charts) {
    check.add(`no more than ${LIMITS.message.charts} data_visualization blocks allowed`, pointer);
  }
  const cellTextLength = blocksOfType('data_table').reduce((sum, block) => sum + getCellTextLength(block), 0);
  if (cellTextLength > LIMITS.dataTable.totalText) {
    check.add(`must be less than ${LIMITS.dataTable.totalText + 1} characters in all cells`, pointer);
  }
}

export function elementsOf(block: JsonObject): JsonObject[] {
  if (block['type'] === 'actions') return getObjects(block, 'elements');
  const singleElement = block[block['type'] === 'section' ? 'accessory' : 'element'];
  return isObject(singleElement) ? [singleElement] : [];
}

/** The total length of texts, for the limit on a message. Data tables aren't counted: they have their own limit. */
export function getTextLength(value: Json): number {
  if (Array.isArray(value)) return value.reduce<number>((sum, item) => sum + getTextLength(item), 0);
  if (!isObject(value) || value['type'] === 'data_table') return 0;
  const ownLength = typeof value['text'] === 'string' ? value['text'].length : 0;
  return Object.values(value).reduce<number>((sum, item) => sum + getTextLength(item), ownLength);
}

function checkSection(check: Checker, block: JsonObject, pointer: string): void {
  if (block['text'] === undefined && block['fields'] === undefined) {
    check.add('must define either `text` or `fields`', pointer);
  }
  check.text(block, 'text', pointer, { max: LIMITS.section.text });
  for (const { item, pointer: itemPointer } of check.objects(block, 'fields', pointer, {
    min: 1,
    max: LIMITS.section.fields,
  })) {
    check.textObject(item, itemPointer, { max: LIMITS.section.fieldText });
  }
  const accessory = check.child(block, 'accessory', pointer);
  if (accessory) checkElement(check, accessory, `${pointer}/accessory`, 'section');
}

const ALLOWED_PIECES_BY_ELEMENT: Readonly<Record<string, readonly string[]>> = {
  rich_text_section: ['text', 'user', 'date'],
  rich_text_preformatted: ['text'],
};
const REQUIRED_FIELDS_BY_PIECE: Readonly<Record<string, Readonly<Record<string, 'string' | 'number'>>>> = {
  text: { text: 'string' },
  user: { user_id: 'string' },
  date: { timestamp: 'number', format: 'string', fallback: 'string' },
};

function checkRichText(check: Checker, block: JsonObject, pointer: string): void {
  for (const { item, pointer: itemPointer } of check.objects(block, 'elements', pointer, {
    max: 100,
    required: true,
  })) {
    const type = getString(item, 'type') ?? '';
    const allowedTypes = Object.hasOwn(ALLOWED_PIECES_BY_ELEMENT, type)
      ? ALLOWED_PIECES_BY_ELEMENT[type]
      : undefined;
    if (!allowedTypes) {
      check.addUnsupported(`\`${type}\` in rich text`, `${itemPointer}/type`);
      continue;
    }
    check.rejectUnknownFields(item, ['type', 'elements'], itemPointer);
    const elements = check.objects(item, 'elements', itemPointer, { max: 1_000, required: true });
    for (const { item: piece, pointer: piecePointer } of elements)
      checkPiece(check, piece, piecePointer, allowedTypes);
  }
}

function checkPiece(
  check: Checker,
  piece: JsonObject,
  pointer: string,
  allowedTypes: readonly string[],
): void {
  const type = getString(piece, 'type') ?? '';
  const fields = Object.hasOwn(REQUIRED_FIELDS_BY_PIECE, type) ? REQUIRED_FIELDS_BY_PIECE[type] : undefined;
  if (!fields || !allowedTypes.includes(type)) {
    check.addUnsupported(`\`${type}\` in this part of rich text`, `${pointer}/type`);
    return;
  }
  check.rejectUnknownFields(piece, ['type', ...Object.keys(fields)], pointer);
  for (const [field, fieldType] of Object.entries(fields)) {
    if (fieldType === 'string') check.string(piece, field, pointer, { required: true, min: 1 });
    else if (typeof piece[field] !== 'number') check.add(`missing required field: ${field}`, pointer);
  }
}

function checkCells(check: Checker, rows: Json[], pointer: string): void {
  rows.forEach((row, index) => {
    const size = { min: 1, max: LIMITS.dataTable.cells };
    for (const { item, pointer: cellPointer } of check.objects(
      { [index]: row },
      String(index),
      `${pointer}/rows`,
      size,
    )) {
      const type = getString(item, 'type') ?? '';
      if (type === 'raw_text') {
        check.rejectUnknownFields(item, ['type', 'text'], cellPointer);
        check.string(item, 'text', cellPointer, { required: true, min: 1 });
      } else if (type === 'rich_text') checkRichText(check, item, cellPointer);
      else check.addUnsupported(`a cell of the type \`${type}\``, `${cellPointer}/type`);
    }
  });
}

function checkDataTable(check: Checker, block: JsonObject, pointer: string): void {
  const { minRows, rows: max, pageSize } = LIMITS.dataTable;
  check.string(block, 'caption', pointer, { required: true, min: 1 });
  check.integer(block, 'page_size', pointer, 1, pageSize);
  const rows = check.list(block, 'rows', pointer, { min: minRows, max, required: true });
  checkCells(check, rows, pointer);
  const widths = new Set(rows.map((row) => (Array.isArray(row) ? row.length : -1)));
  if (widths.size > 1) check.add('all rows must have the same number of cells', `${pointer}/rows`);
  const [header] = rows;
  if (Array.isArray(header)) {
    if (header.some((cell) => isObject(cell) && cell['type'] === 'rich_text')) {
      check.add('header cells cannot be rich_text', `${pointer}/rows/0`);
    }
    check.integer(block, 'row_header_column_index', pointer, 0, header.length - 1);
  }
}

function getCellTextLength(block: JsonObject): number {
  return block['rows'] === undefined ? 0 : getTextLength(block['rows']);
}

function checkChart(check: Checker, block: JsonObject, pointer: string): void {
  const limits = LIMITS.chart;
  check.string(block, 'title', pointer, { required: true, min: 1, max: limits.title });
  const chart = check.child(block, 'chart', pointer, true);
  if (!chart) return;
  const chartPointer = `${pointer}/chart`;
  const type = getString(chart, 'type') ?? '';
  if (type !== 'bar') {
    check.addUnsupported(`a chart of the type \`${type}\``, `${chartPointer}/type`);
    return;
  }
  const axis = check.child(chart, 'axis_config', chartPointer, true);
  const categories = axis
    ? check.list(axis, 'categories', `${chartPointer}/axis_config`, { min: 1, max: limits.points })
    : [];
  if (axis) {
    check.string(axis, 'x_label', `${chartPointer}/axis_config`, { max: limits.axisLabel });
    check.string(axis, 'y_label', `${chartPointer}/axis_config`, { max: limits.axisLabel });
  }
  const allSeries = check.objects(chart, 'series', chartPointer, {
    min: 1,
    max: limits.series,
    required: true,
  });
  if (allSeries.length > 1) check.addUnsupported('a chart with several series', `${chartPointer}/series`);
  for (const { item, pointer: seriesPointer } of allSeries) {
    check.string(item, 'name', seriesPointer, { required: true, min: 1, max: limits.name });
    const points = check.objects(item, 'data', seriesPointer, { min: 1, max: limits.points, required: true });
    for (const { item: point, pointer: pointPointer } of points) checkPoint(check, point, pointPointer);
    const labels = points.map(({ item: point }) => point['label']);
    if (labels.length !== categories.length || categories.some((category) => !labels.includes(category))) {
      check.add('labels must be the categories of `axis_config`, each once', seriesPointer);
    }
  }
}

function checkPoint(check: Checker, point: JsonObject, pointer: string): void {
  check.string(point, 'label', pointer, { required: true, min: 1, max: LIMITS.chart.label });
  const { value } = point;
  if (typeof value !== 'number' || !Number.isFinite(value)) check.add('must be a number', `${pointer}/value`);
}
