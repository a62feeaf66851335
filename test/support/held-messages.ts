import type { JsonObject, Workspace } from '@domain-steward/slack-workspace';
import { z } from 'zod';
import { displayName } from '../../src/zones/names.ts';
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
      task: z.string().default(''),
      names: z.string().default(''),
      state: z.string().default(''),
    }),
  })
  .optional()
  .catch(undefined);
/** Slack takes objects in a form as JSON. */
const json = z.preprocess((value) => (typeof value === 'string' ? JSON.parse(value) : value), z.unknown());

/** What one call shows to people. */
interface Shown {
  readonly text: string;
  readonly blocks: readonly JsonObject[];
  readonly metadata: z.infer<typeof metadata>;
  /** It is a message, which a lock screen shows. */
  readonly isMessage: boolean;
  /** It stands in a thread. */
  readonly isReply: boolean;
}

const POSTED = new Set(['chat.postMessage', 'chat.update']);
const EPHEMERAL = new Set(['chat.postEphemeral', 'response_url']);

/** What a call shows; undefined where it shows nothing. */
function shownBy({ method, args }: Call): Shown | undefined {
  if (method.startsWith('views.')) {
    const view = object.parse(json.parse(args['view']));
    const blocks = z.array(object).parse(view['blocks']);
    return { text: '', blocks, metadata: undefined, isMessage: false, isReply: false };
  }
  const isMessage = POSTED.has(method);
  if (!isMessage && !EPHEMERAL.has(method)) return undefined;
  return {
    text: String(args['text'] ?? ''),
    blocks: z.array(object).parse(json.parse(args['blocks']) ?? []),
    metadata: metadata.parse(json.parse(args['metadata'])),
    isMessage,
    isReply: args['thread_ts'] !== undefined,
  };
}

const ENDED = new Set(['SUCCEEDED', 'FAILED', 'DENIED', 'EXPIRED', 'CANCELLED']);

/** A kind of message, and how many lines it may have. */
interface Kind {
  readonly name: string;
  readonly lines: number;
}

/** What a message is; undefined for what the table of lengths does not name. */
function kindOf({ text, blocks, metadata: about, isReply }: Shown): Kind | undefined {
  const ids = blocks.map((block) => String(block['block_id'] ?? ''));
  const has = (pattern: RegExp) => ids.some((id) => pattern.test(id));
  const found = unusualFacts(blocks);
  const order = about?.event_type === 'domain_order' ? about.event_payload : undefined;
  if (order !== undefined && has(/^order_[a-z0-9]+$/)) {
    if (ENDED.has(order.state)) return { name: 'a card that has ended', lines: 6 };
    return order.state === 'PENDING' ? waitingKind(order, found) : undefined;
  }
  // What contradicts what people were told is an alarm.
  if (
    has(/^late_/) ||
    /contradicts how it was settled|database lost/.test(blocks.flatMap((block) => textsOf(block)).join())
  )
    return { name: 'an alarm', lines: 14 };
  if (order !== undefined && isReply && (ENDED.has(order.state) || order.state === 'UNKNOWN'))
    return { name: 'a reply with a result', lines: 6 };
  if (has(/^confirm_/)) {
    const isDeletion = text.includes('Delete ');
    return { name: 'a confirmation', lines: (isDeletion ? 14 : 18) + 2 * Math.max(found - 4, 0) };
  }
  if (has(/^incident_/)) return { name: 'an alarm', lines: 14 };
  if (has(/^plan_/)) return { name: 'a plan', lines: 16 };
  if (has(/^digest_/)) return { name: 'a digest', lines: digestLines(blocks) };
  const [first] = blocks;
  if (first?.['type'] === 'header' && textsOf([first]).join('').startsWith('Money in '))
    return { name: 'a monthly report', lines: 16 };
  return undefined;
}

/** A waiting card has two lines more for each unusual fact; a deletion, or new nameservers, with four of them has 18. */
function waitingKind(
  { task, names }: { readonly task: string; readonly names: string },
  found: number,
): Kind {
  if (names.includes(','))
    return { name: 'a waiting card of several names', lines: Math.max(18, 12 + 2 * found) };
  const isImpact = task === 'delete' || task === 'nameservers';
  return { name: 'a waiting card', lines: (isImpact && found >= 4 ? 10 : 12) + 2 * found };
}

/** Two lines a name and ten besides; what is near has a line more, and each further line is two. */
function digestLines(blocks: readonly JsonObject[]): number {
  const names = blocks.filter(({ block_id: id }) => String(id).startsWith('due_'));
  const more = names.flatMap((block) =>
    textsOf(block['text'] ?? null).flatMap((text) => text.split('\n').slice(1)),
  );
  // What it says besides of names that nobody has to decide about.
  const besides = blocks
    .filter((block) => !names.includes(block))
    .flatMap((block) => textsOf(block).flatMap((text) => text.split('\n')))
    .filter((line) => /^(?:\*?:warning:|•)/.test(line));
  return 10 + 2 * names.length + 3 * more.length + 3 * besides.length;
}

/** What a lock screen shows is one sentence without signs that begins with what it is about. */
function lockScreenIssues({ text, blocks, metadata: about, isMessage }: Shown): string[] {
  // Where Slack refuses the blocks, the text is all that the message has.
  if (!isMessage || blocks.length === 0) return [];
  const names = (about?.event_payload.names ?? '').split(',');
  const begins = text.slice(0, 60);
  const isNamed =
    names.some((name) => begins.includes(name) || begins.includes(displayName(name))) ||
    /\b\d+ names\b/.test(begins);
  return [
    ...(text === '' ? ['a message without a text'] : []),
    ...(/^:|^\p{Extended_Pictographic}/u.test(text) ? [`a text that begins with a sign: ${text}`] : []),
    ...(about?.event_type === 'domain_order' && !isNamed
      ? [`a text that does not begin with its name: ${text}`]
      : []),
  ];
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
      ...lockScreenIssues(shown),
      ...(kind !== undefined && lines > kind.lines
        ? [`${kind.name} has ${lines} lines, ${kind.lines} at most: ${shown.text.slice(0, 120)}`]
        : []),
    ].map((issue) => `${call.method}: ${issue}`);
  });
  return [...new Set(found)];
}

/** @throws {Error} which says what is unreadable or too long of all that the bot said */
export function holdMessages(calls: readonly Call[]): void {
  const issues = issuesOf(calls);
  if (issues.length > 0) throw new Error(`What people would have to read:\n${issues.join('\n')}`);
}
