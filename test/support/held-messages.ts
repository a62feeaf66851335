import type { JsonObject, Workspace } from '@domain-steward/slack-workspace';
import { z } from 'zod';
import { formatDomainName } from '../../src/zones/names.ts';
import { phoneLines, textsOf, unreadable, unusualFacts } from './reading.ts';

/* Checks the bot's messages in a story: the maximum length of each kind, and that they have no technical values. */

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

/** The visible part of one call. */
interface VisibleContent {
  readonly text: string;
  readonly blocks: readonly JsonObject[];
  readonly metadata: z.infer<typeof metadata>;
  /** Whether a lock screen shows it. */
  readonly isMessage: boolean;
  readonly isReply: boolean;
}

const POSTED = new Set(['chat.postMessage', 'chat.update']);
const EPHEMERAL = new Set(['chat.postEphemeral', 'response_url']);

/** @returns undefined if the call shows nothing */
function getVisibleContent({ method, args }: Call): VisibleContent | undefined {
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

/** A kind of message, and its maximum number of lines. */
interface Kind {
  readonly name: string;
  readonly lines: number;
}

/** The kind of a message; undefined if the table of lengths doesn't have it. */
function classifyMessage({ text, blocks, metadata: about, isReply }: VisibleContent): Kind | undefined {
  const ids = blocks.map((block) => String(block['block_id'] ?? ''));
  const has = (pattern: RegExp) => ids.some((id) => pattern.test(id));
  const found = unusualFacts(blocks);
  const order = about?.event_type === 'domain_order' ? about.event_payload : undefined;
  if (order !== undefined && has(/^order_[a-z0-9]+$/)) {
    if (ENDED.has(order.state)) return { name: 'a card that has ended', lines: 6 };
    return order.state === 'PENDING' ? classifyPendingCard(order, found) : undefined;
  }
  // A result that contradicts an earlier message is an alarm.
  if (
    has(/^late_/) ||
    /contradicts the outcome that was entered|database lost/.test(
      blocks.flatMap((block) => textsOf(block)).join(),
    )
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
  if (has(/^digest_/)) return { name: 'a digest', lines: countAllowedDigestLines(blocks) };
  const [first] = blocks;
  if (first?.['type'] === 'header' && textsOf([first]).join('').startsWith('Money report '))
    return { name: 'a monthly report', lines: 16 };
  return undefined;
}

/**
 * A pending card can have two more lines for each unusual fact. A deletion or new nameservers with at least four
 * of them can have two fewer.
 */
function classifyPendingCard(
  { task, names }: { readonly task: string; readonly names: string },
  found: number,
): Kind {
  if (names.includes(','))
    return { name: 'a waiting card of several names', lines: Math.max(18, 12 + 2 * found) };
  const isImpact = task === 'delete' || task === 'nameservers';
  return { name: 'a waiting card', lines: (isImpact && found >= 4 ? 10 : 12) + 2 * found };
}

/** Two lines per name plus ten; a name that expires soon has another line, and each further line counts as two. */
function countAllowedDigestLines(blocks: readonly JsonObject[]): number {
  const names = blocks.filter(({ block_id: id }) => String(id).startsWith('due_'));
  const more = names.flatMap((block) =>
    textsOf(block['text'] ?? null).flatMap((text) => text.split('\n').slice(1)),
  );
  // Sections about names that need no decision.
  const besides = blocks
    .filter((block) => !names.includes(block))
    .flatMap((block) => textsOf(block).flatMap((text) => text.split('\n')))
    .filter((line) => /^(?:\*?:warning:|•)/.test(line));
  return 10 + 2 * names.length + 3 * more.length + 3 * besides.length;
}

/** The lock screen text is one sentence without symbols, and starts with its subject. */
function listLockScreenIssues({ text, blocks, metadata: about, isMessage }: VisibleContent): string[] {
  // If Slack refuses the blocks, the text is all that the message has.
  if (!isMessage || blocks.length === 0) return [];
  const names = (about?.event_payload.names ?? '').split(',');
  const begins = text.slice(0, 60);
  const isNamed =
    names.some((name) => begins.includes(name) || begins.includes(formatDomainName(name))) ||
    /\b\d+ names\b/.test(begins);
  return [
    ...(text === '' ? ['a message without a text'] : []),
    ...(/^:|^\p{Extended_Pictographic}/u.test(text) ? [`a text that starts with a symbol: ${text}`] : []),
    ...(about?.event_type === 'domain_order' && !isNamed
      ? [`a text that doesn't start with its name: ${text}`]
      : []),
  ];
}

/** Messages that are unreadable or too long, one line each. */
function listIssues(calls: readonly Call[]): string[] {
  const found = calls.flatMap((call) => {
    const shown = call.ok ? getVisibleContent(call) : undefined;
    if (shown === undefined) return [];
    const kind = classifyMessage(shown);
    const lines = kind === undefined ? 0 : phoneLines(shown.blocks);
    return [
      ...unreadable(shown.text, shown.blocks),
      ...listLockScreenIssues(shown),
      ...(kind !== undefined && lines > kind.lines
        ? [`${kind.name} has ${lines} lines, ${kind.lines} at most: ${shown.text.slice(0, 120)}`]
        : []),
    ].map((issue) => `${call.method}: ${issue}`);
  });
  return [...new Set(found)];
}

/** @throws {Error} with everything that is unreadable or too long */
export function assertReadableMessages(calls: readonly Call[]): void {
  const issues = listIssues(calls);
  if (issues.length > 0) throw new Error(`Messages that people can’t read well:\n${issues.join('\n')}`);
}
