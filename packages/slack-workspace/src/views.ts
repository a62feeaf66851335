import { checkBlocks } from './blocks.ts';
import { getInitialValues, keepEnteredValues } from './forms.ts';
import { LIMITS } from './limits.ts';
import { Checker, getObjects, getString, isObject, type Problem } from './problems.ts';
import type { JsonObject, View } from './protocol.ts';

const VIEW_FIELDS = ['type', 'title', 'submit', 'close', 'blocks', 'private_metadata', 'callback_id'];

/** Checks the payload of a view (docs.slack.dev, views reference). */
export function checkView(view: JsonObject, expectedType: 'modal' | 'home'): Problem[] {
  const checker = new Checker();
  const pointer = '/view';
  const { title, submit, close, privateMetadata, callbackId } = LIMITS.view;
  checker.string(view, 'type', pointer, { required: true, oneOf: [expectedType] });
  checker.rejectUnknownFields(view, VIEW_FIELDS, pointer);
  if (expectedType === 'modal') {
    checker.text(view, 'title', pointer, { max: title, plain: true, required: true });
    checker.text(view, 'submit', pointer, { max: submit, plain: true });
    checker.text(view, 'close', pointer, { max: close, plain: true });
  }
  checker.string(view, 'private_metadata', pointer, { max: privateMetadata });
  checker.string(view, 'callback_id', pointer, { max: callbackId });
  if (view['blocks'] === undefined) {
    checker.add('missing required field: blocks', pointer);
    return checker.problems;
  }
  checker.problems.push(...checkBlocks(view['blocks'], expectedType, `${pointer}/blocks`));
  const inputIndex = getObjects(view, 'blocks').findIndex((block) => block['type'] === 'input');
  if (expectedType === 'modal' && inputIndex >= 0 && view['submit'] === undefined) {
    checker.add(
      'must define `submit` to use an `input` block in modals',
      `${pointer}/blocks/${inputIndex}/input`,
    );
  }
  return checker.problems;
}

/** The fields of a view that the app doesn't send. */
type ViewIdentity = Pick<
  View,
  'id' | 'hash' | 'team_id' | 'app_id' | 'bot_id' | 'root_view_id' | 'previous_view_id'
>;

/**
 * Builds a view from a valid payload. Adds missing ids. Keeps the person's input in an element if its block id, action
 * id and type haven't changed.
 */
export function buildView(payload: JsonObject, identity: ViewIdentity, previous: View | undefined): View {
  const blocks = addMissingIds(getObjects(payload, 'blocks'), identity.id);
  const values = getInitialValues(blocks);
  return {
    ...identity,
    type: payload['type'] === 'home' ? 'home' : 'modal',
    title: readPlainText(payload, 'title'),
    submit: readPlainText(payload, 'submit'),
    close: readPlainText(payload, 'close'),
    blocks,
    private_metadata: getString(payload, 'private_metadata') ?? '',
    callback_id: getString(payload, 'callback_id') ?? '',
    external_id: '',
    state: { values: previous ? keepEnteredValues(values, previous.state.values) : values },
    clear_on_close: false,
    notify_on_close: false,
  };
}

function readPlainText(payload: JsonObject, field: string): View['title'] {
  const value = payload[field];
  if (!isObject(value)) return null;
  return { type: 'plain_text', text: getString(value, 'text') ?? '', emoji: value['emoji'] !== false };
}

/** Adds each missing `block_id` and `action_id`, as Slack does. */
export function addMissingIds(blocks: JsonObject[], idPrefix: string): JsonObject[] {
  return blocks.map((block, blockIndex) => {
    const blockWithIds: JsonObject = {
      ...block,
      block_id: getString(block, 'block_id') ?? `${idPrefix}-b${blockIndex}`,
    };
    for (const field of ['element', 'accessory']) {
      const element = block[field];
      if (isObject(element)) blockWithIds[field] = addActionId(element, `${idPrefix}-a${blockIndex}`);
    }
    if (block['type'] === 'actions') {
      blockWithIds['elements'] = getObjects(block, 'elements').map((element, elementIndex) =>
        addActionId(element, `${idPrefix}-a${blockIndex}-${elementIndex}`),
      );
    }
    return blockWithIds;
  });
}

function addActionId(element: JsonObject, fallbackId: string): JsonObject {
  return { ...element, action_id: getString(element, 'action_id') ?? fallbackId };
}
