import { checkBlocks } from './blocks.ts';
import { initialValues, keepValues } from './forms.ts';
import { LIMITS } from './limits.ts';
import { Checker, isObject, objectsOf, type Problem, textOf } from './problems.ts';
import type { JsonObject, View } from './protocol.ts';

const VIEW_FIELDS = ['type', 'title', 'submit', 'close', 'blocks', 'private_metadata', 'callback_id'];

/** Checks the payload of a view (docs.slack.dev, views reference). */
export function checkView(view: JsonObject, expected: 'modal' | 'home'): Problem[] {
  const check = new Checker();
  const pointer = '/view';
  const { title, submit, close, privateMetadata, callbackId } = LIMITS.view;
  check.string(view, 'type', pointer, { required: true, oneOf: [expected] });
  check.onlyFields(view, VIEW_FIELDS, pointer);
  if (expected === 'modal') {
    check.text(view, 'title', pointer, { max: title, plain: true, required: true });
    check.text(view, 'submit', pointer, { max: submit, plain: true });
    check.text(view, 'close', pointer, { max: close, plain: true });
  }
  check.string(view, 'private_metadata', pointer, { max: privateMetadata });
  check.string(view, 'callback_id', pointer, { max: callbackId });
  if (view['blocks'] === undefined) {
    check.add('missing required field: blocks', pointer);
    return check.problems;
  }
  check.problems.push(...checkBlocks(view['blocks'], expected, `${pointer}/blocks`));
  const inputIndex = objectsOf(view, 'blocks').findIndex((block) => block['type'] === 'input');
  if (expected === 'modal' && inputIndex >= 0 && view['submit'] === undefined) {
    check.add(
      'must define `submit` to use an `input` block in modals',
      `${pointer}/blocks/${inputIndex}/input`,
    );
  }
  return check.problems;
}

/** The fields of a view that the app doesn't send. */
type ViewIdentity = Pick<
  View,
  'id' | 'hash' | 'team_id' | 'app_id' | 'bot_id' | 'root_view_id' | 'previous_view_id'
>;

/**
 * Builds the view to show from a checked payload. Adds missing ids. Keeps a person's input if block id, action id and
 * element type are the same as before.
 */
export function buildView(payload: JsonObject, identity: ViewIdentity, previous: View | undefined): View {
  const blocks = addMissingIds(objectsOf(payload, 'blocks'), identity.id);
  const values = initialValues(blocks);
  return {
    ...identity,
    type: payload['type'] === 'home' ? 'home' : 'modal',
    title: plainText(payload, 'title'),
    submit: plainText(payload, 'submit'),
    close: plainText(payload, 'close'),
    blocks,
    private_metadata: textOf(payload, 'private_metadata') ?? '',
    callback_id: textOf(payload, 'callback_id') ?? '',
    external_id: '',
    state: { values: previous ? keepValues(values, previous.state.values) : values },
    clear_on_close: false,
    notify_on_close: false,
  };
}

function plainText(payload: JsonObject, field: string): View['title'] {
  const value = payload[field];
  if (!isObject(value)) return null;
  return { type: 'plain_text', text: textOf(value, 'text') ?? '', emoji: value['emoji'] !== false };
}

/** Adds each missing `block_id` and `action_id`, as Slack does. */
export function addMissingIds(blocks: JsonObject[], seed: string): JsonObject[] {
  return blocks.map((block, index) => {
    const blockWithIds: JsonObject = { ...block, block_id: textOf(block, 'block_id') ?? `${seed}-b${index}` };
    for (const field of ['element', 'accessory']) {
      const element = block[field];
      if (isObject(element)) blockWithIds[field] = addActionId(element, `${seed}-a${index}`);
    }
    if (block['type'] === 'actions') {
      blockWithIds['elements'] = objectsOf(block, 'elements').map((element, position) =>
        addActionId(element, `${seed}-a${index}-${position}`),
      );
    }
    return blockWithIds;
  });
}

function addActionId(element: JsonObject, fallback: string): JsonObject {
  return { ...element, action_id: textOf(element, 'action_id') ?? fallback };
}
