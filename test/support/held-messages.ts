import type { JsonObject, Workspace } from '@domain-steward/slack-workspace';
import { z } from 'zod';
import { formatDomainName } from '../../src/zones/names.ts';
import { countPhoneLines, countUnusualFacts, findUnreadableValues, textsOf } from './reading.ts';

/* Checks that a bot's messages aren't too long for their kind, and that they have no technical values. */

type Call = Workspace['calls'][number];

const objectSchema: z.ZodType<JsonObject> = z.record(z.string(), z.json());
const metadataSchema = z
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
const jsonSchema = z.preprocess(
  (value) => (typeof value === 'string' ? JSON.parse(value) : value),
  z.unknown(),
);

/** The visible part of one call. */
interface VisibleContent {
  readonly text: string;
  readonly blocks: readonly JsonObject[];
  readonly metadata: z.infer<typeof metadataSchema>;
  /** Whether a lock screen shows it. */
  readonly isMessage: boolean;
  readonly isReply: boolean;
}

const POST_METHODS = new Set(['chat.postMessage', 'chat.update']);
const EPHEMERAL_METHODS = new Set(['chat.postEphemeral', 'response_url']);

/** @returns undefined if the call shows nothing */
function getVisibleContent({ method, args }: Call): VisibleContent | undefined {
  if (method.startsWith('views.')) {
    const view = objectSchema.parse(jsonSchema.parse(args['view']));
    const blocks = z.array(objectSchema).parse(view['blocks']);
    return { text: '', blocks, metadata: undefined, isMessage: false, isReply: false };
  }
  const isMessage = POST_METHODS.has(method);
  if (!isMessage && !EPHEMERAL_METHODS.has(method)) return undefined;
  return {
    text: String(args['text'] ?? ''),
    blocks: z.array(objectSchema).parse(jsonSchema.parse(args['blocks']) ?? []),
    metadata: metadataSchema.parse(jsonSchema.parse(args['metadata'])),
    isMessage,
    isReply: args['thread_ts'] !== undefined,
  };
}

const ENDED_STATES = new Set(['SUCCEEDED', 'FAILED', 'DENIED', 'EXPIRED', 'CANCELLED']);

/** A kind of message, and how many lines it can have. */
interface MessageKind {
  readonly name: string;
  readonly maxLines: number;
}

/** The kind of a message; undefined if the table of lengths doesn't have it. */
function classifyMessage({
  text,
  blocks,
  metadata: orderMetadata,
  isReply,
}: VisibleContent): MessageKind | undefined {
  const ids = blocks.map((block) => String(block['block_id'] ?? ''));
  const hasBlock = (pattern: RegExp) => ids.some((id) => pattern.test(id));
  const unusualFactCount = countUnusualFacts(blocks);
  const order = orderMetadata?.event_type === 'domain_order' ? orderMetadata.event_payload : undefined;
  if (order !== undefined && hasBlock(/^order_[a-z0-9]+$/)) {
    if (ENDED_STATES.has(order.state)) return { name: 'a card that has ended', maxLines: 6 };
    return order.state === 'PENDING' ? classifyPendingCard(order, unusualFactCount) : undefined;
  }
  // A result that contradicts an earlier message is an alarm.
  if (
    hasBlock(/^late_/) ||
    /contradicts the outcome that was entered|database lost/.test(
      blocks.flatMap((block) => textsOf(block)).join(),
    )
  )
    return { name: 'an alarm', maxLines: 14 };
  if (order !== undefined && isReply && (ENDED_STATES.has(order.state) || order.state === 'UNKNOWN'))
    return { name: 'a reply with a result', maxLines: 6 };
  if (hasBlock(/^confirm_/)) {
    const isDeletion = text.includes('Delete ');
    return {
      name: 'a confirmation',
      maxLines: (isDeletion ? 14 : 18) + 2 * Math.max(unusualFactCount - 4, 0),
    };
  }
  if (hasBlock(/^incident_/)) return { name: 'an alarm', maxLines: 14 };
  if (hasBlock(/^plan_/)) return { name: 'a plan', maxLines: 16 };
  if (hasBlock(/^digest_/)) return { name: 'a digest', maxLines: countAllowedDigestLines(blocks) };
  const [first] = blocks;
  if (first?.['type'] === 'header' && textsOf([first]).join('').startsWith('Money report '))
    return { name: 'a monthly report', maxLines: 16 };
  return undefined;
}

/**
 * A pending card can have two more lines for each unusual fact. A deletion or new nameservers with at least four
 * of them can have two fewer.
 */
function classifyPendingCard(
  { task, names }: { readonly task: string; readonly names: string },
  unusualFactCount: number,
): MessageKind {
  if (names.includes(','))
    return { name: 'a waiting card of several names', maxLines: Math.max(18, 12 + 2 * unusualFactCount) };
  const isImpact = task === 'delete' || task === 'nameservers';
  return {
    name: 'a waiting card',
    maxLines: (isImpact && unusualFactCount >= 4 ? 10 : 12) + 2 * unusualFactCount,
  };
}

/** Ten lines, two per name, three per further line about a name, and three per line about other names. */
function countAllowedDigestLines(blocks: readonly JsonObject[]): number {
  const nameBlocks = blocks.filter(({ block_id: id }) => String(id).startsWith('due_'));
  const furtherLines = nameBlocks.flatMap((block) =>
    textsOf(block['text'] ?? null).flatMap((text) => text.split('\n').slice(1)),
  );
  // Sections about names that need no decision.
  const otherLines = blocks
    .filter((block) => !nameBlocks.includes(block))
    .flatMap((block) => textsOf(block).flatMap((text) => text.split('\n')))
    .filter((line) => /^(?:\*?:warning:|•)/.test(line));
  return 10 + 2 * nameBlocks.length + 3 * furtherLines.length + 3 * otherLines.length;
}

/** The lock screen text is one sentence without symbols, and starts with its subject. */
function listLockScreenIssues({
  text,
  blocks,
  metadata: orderMetadata,
  isMessage,
}: VisibleContent): string[] {
  // If Slack refuses the blocks, the message has only its text.
  if (!isMessage || blocks.length === 0) return [];
  const names = (orderMetadata?.event_payload.names ?? '').split(',');
  const beginning = text.slice(0, 60);
  const isNamed =
    names.some((name) => beginning.includes(name) || beginning.includes(formatDomainName(name))) ||
    /\b\d+ names\b/.test(beginning);
  return [
    ...(text === '' ? ['a message without a text'] : []),
    ...(/^:|^\p{Extended_Pictographic}/u.test(text) ? [`a text that starts with a symbol: ${text}`] : []),
    ...(orderMetadata?.event_type === 'domain_order' && !isNamed
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
    const lines = kind === undefined ? 0 : countPhoneLines(shown.blocks);
    return [
      ...findUnreadableValues(shown.text, shown.blocks),
      ...listLockScreenIssues(shown),
      ...(kind !== undefined && lines > kind.maxLines
        ? [`${kind.name} has ${lines} lines, ${kind.maxLines} at most: ${shown.text.slice(0, 120)}`]
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
