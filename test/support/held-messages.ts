import { basename } from 'node:path';
import type { JsonObject, Workspace } from '@domain-steward/slack-workspace';
import { z } from 'zod';
import { phoneLines, textsOf, unreadable, unusualFacts } from './reading.ts';

/*
 * Holds what the bot said in a story to what people can read: how long each kind of message may be, and that there is nothing
 * of a wire in it.
 */

type Call = Workspace['calls'][number];

const object: z.ZodType<JsonObject> = z.record(z.string(), z.json());
const metadata = z
  .object({
    event_type: z.string(),
    event_payload: z.object({
      names: z.string().default(''),
      state: z.string(),
    }),
  })
  .optional()
  .catch(undefined);
/** Slack takes objects in a form as JSON. */
const json = z.preprocess((value) => (typeof value === 'string' ? JSON.parse(value) : value), z.unknown());

/** What one call shows to people; undefined where it shows nothing. */
interface Shown {
  readonly text: string;
  readonly blocks: readonly JsonObject[];
  readonly metadata: z.infer<typeof metadata>;
}

const MESSAGES = new Set(['chat.postMessage', 'chat.update', 'chat.postEphemeral', 'response_url']);

function shownBy({ method, args }: Call): Shown | undefined {
  if (method.startsWith('views.')) {
    const view = object.parse(json.parse(args['view']));
    const blocks = z.array(object).parse(view['blocks']);
    return { text: '', blocks, metadata: undefined };
  }
  if (!MESSAGES.has(method)) return undefined;
  return {
    text: String(args['text'] ?? ''),
    blocks: z.array(object).parse(json.parse(args['blocks']) ?? []),
    metadata: metadata.parse(json.parse(args['metadata'])),
  };
}

const ENDED = new Set(['SUCCEEDED', 'FAILED', 'DENIED', 'EXPIRED', 'CANCELLED']);

/** A kind of message, and how many lines it may have. */
interface Kind {
  readonly name: string;
  readonly lines: number;
}

/** What a message is; undefined for what the table of lengths does not name. */
function kindOf({ blocks, metadata: about }: Shown): Kind | undefined {
  const ids = blocks.map((block) => String(block['block_id'] ?? ''));
  const has = (pattern: RegExp) => ids.some((id) => pattern.test(id));
  const unusual = 2 * unusualFacts(blocks);
  const order = about?.event_type === 'domain_order' ? about.event_payload : undefined;
  if (order !== undefined && has(/^order_[a-z0-9]+$/)) {
    if (ENDED.has(order.state)) return { name: 'a card that has ended', lines: 6 + unusual };
    if (order.state !== 'PENDING') return undefined;
    return order.names.includes(',')
      ? { name: 'a waiting card of several names', lines: Math.max(18, 12 + unusual) }
      : { name: 'a waiting card', lines: 12 + unusual };
  }
  if (has(/^plan_/)) return { name: 'a plan', lines: Math.max(16, 12 + unusual) };
  if (has(/^digest_/)) return { name: 'a digest', lines: digestLines(blocks) };
  const [first] = blocks;
  if (first?.['type'] === 'header' && textsOf([first]).join('').startsWith('Money in '))
    return { name: 'a monthly report', lines: 16 };
  return undefined;
}

/** Two lines a name and ten besides; what is near has a line more, and each further line is two. */
function digestLines(blocks: readonly JsonObject[]): number {
  const names = blocks.filter(({ block_id: id }) => String(id).startsWith('due_'));
  const more = names.flatMap((block) =>
    textsOf(block['text'] ?? null).flatMap((text) => text.split('\n').slice(1)),
  );
  return 10 + 2 * names.length + 3 * more.length;
}

/** What is unreadable or too long of all that the bot said, a line each. */
function issuesOf(calls: readonly Call[]): string[] {
  const found = calls.flatMap((call) => {
    const shown = call.ok ? shownBy(call) : undefined;
    if (shown === undefined) return [];
    const kind = kindOf(shown);
    const lines = kind === undefined ? 0 : phoneLines(shown.blocks);
    return [
      ...unreadable(shown.text, shown.blocks),
      ...(kind !== undefined && lines > kind.lines
        ? [`${kind.name} has ${lines} lines, ${kind.lines} at most: ${shown.text.slice(0, 120)}`]
        : []),
    ].map((issue) => `${call.method}: ${issue}`);
  });
  return [...new Set(found)];
}

/** The stories whose messages are held to it. */
const HELD: readonly string[] = [
  ...['approver', 'home', 'name', 'organisation', 'settings', 'spend', 'stop', 'waiting'],
  ...['bulk.deep', 'many-rows.deep', 'money-report.deep'],
];

/** @param testFile the path of the story @throws {Error} as {@link holdMessages} does, for the stories that are held */
export function holdStory(testFile: string | undefined, calls: readonly Call[]): void {
  if (HELD.includes(basename(testFile ?? '', '.test.ts'))) holdMessages(calls);
}

/** @throws {Error} which says what is unreadable or too long of all that the bot said */
export function holdMessages(calls: readonly Call[]): void {
  const issues = issuesOf(calls);
  if (issues.length > 0) throw new Error(`What people would have to read:\n${issues.join('\n')}`);
}
