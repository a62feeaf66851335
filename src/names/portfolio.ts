import { z } from 'zod';
import type { MessagePlace } from '../outbox/notifications.ts';
import { isSameExpiry, type NameDates, pickLaterExpiry } from './dates.ts';

/** The fields of a name that people set. */
export interface NameDetails {
  readonly owner: string | undefined;
  /** In lowercase, sorted and without duplicates. */
  readonly tags: readonly string[];
  /** Used instead of the reminder channel. Incidents are posted in both. */
  readonly channel: string | undefined;
  readonly note: string | undefined;
}

export const DETAIL_COLUMNS = ['owner', 'tags', 'channel', 'note'] as const;

/** Returns cells in the order of {@link DETAIL_COLUMNS}. */
export function formatDetailCells({ owner = '', tags, channel = '', note = '' }: NameDetails): string[] {
  return [owner, tags.join(' '), channel, note];
}

/** Undefined leaves a field unchanged; `null` clears it. */
export interface DetailsChange {
  readonly owner?: string | null;
  readonly tags?: readonly string[];
  /** Tags to add to the existing ones, which {@link DetailsChange.tags} would replace. */
  readonly addTags?: readonly string[];
  readonly removeTags?: readonly string[];
  readonly channel?: string | null;
  readonly note?: string | null;
}

/** Names with this tag are checked every minute, and “It was us” needs two people. */
export const GUARDED_TAG = 'guarded';
/** The filter value that selects names without an owner or tags, so it can't be a tag. */
export const NONE_FILTER = 'none';

export const MAX_TAGS = 20;
const MAX_TAG_LENGTH = 40;
export const MAX_NOTE_LENGTH = 500;
/** Guarded names are looked up every minute, and the names of a parent zone share a lookup budget. */
export const MAX_GUARDED_NAMES = 1_000;
/** The names of a zone share a registry lookup budget. */
export const MAX_WATCHED_NAMES = 25_000;
export const MAX_IMPORTED_NAMES = 20_000;
/** Letters and digits of any script, and characters that join words. */
const TAG_PATTERN = /^[\p{L}\p{M}\p{Nd}][\p{L}\p{M}\p{Nd}_.-]*$/u;

export type TagIssue =
  | { readonly code: 'invalid_tag' | 'tag_too_long' | 'reserved_tag'; readonly tag: string }
  | { readonly code: 'too_many_tags' };

/** Accepts tags separated by commas, semicolons, line breaks or `#`. Spaces inside a tag become hyphens. */
export function parseTags(
  text: string,
):
  | { readonly ok: true; readonly tags: readonly string[] }
  | { readonly ok: false; readonly issues: readonly TagIssue[] } {
  const enteredTags = text
    .split(/[,;\n#]+/)
    .map((word) => word.trim().replace(/\s+/g, '-').normalize('NFC').toLowerCase())
    .filter((word) => word !== '');
  const tags = sortUniqueTags(enteredTags);
  const issues = tags.flatMap((tag): TagIssue[] => {
    if (tag === NONE_FILTER) return [{ code: 'reserved_tag', tag }];
    if (tag.length > MAX_TAG_LENGTH) return [{ code: 'tag_too_long', tag }];
    return TAG_PATTERN.test(tag) ? [] : [{ code: 'invalid_tag', tag }];
  });
  if (tags.length > MAX_TAGS) issues.push({ code: 'too_many_tags' });
  return issues.length > 0 ? { ok: false, issues } : { ok: true, tags };
}

function sortUniqueTags(tags: readonly string[]): string[] {
  return [...new Set(tags)].sort();
}

function applyDetailsChange(before: NameDetails, change: DetailsChange): NameDetails {
  const pickValue = <T>(value: T | null | undefined, current: T | undefined): T | undefined =>
    value === undefined ? current : (value ?? undefined);
  const removedTags = new Set(change.removeTags ?? []);
  const tags = [...(change.tags ?? before.tags), ...(change.addTags ?? [])];
  return {
    owner: pickValue(change.owner, before.owner),
    tags: sortUniqueTags(tags.filter((tag) => !removedTags.has(tag))),
    channel: pickValue(change.channel, before.channel),
    note: pickValue(change.note, before.note),
  };
}

export function isSameDetails(a: NameDetails, b: NameDetails): boolean {
  return (
    a.owner === b.owner &&
    a.channel === b.channel &&
    a.note === b.note &&
    a.tags.length === b.tags.length &&
    a.tags.every((tag, index) => tag === b.tags[index])
  );
}

export interface ReminderChange {
  readonly name: string;
  /** Set if the name isn't watched yet. */
  readonly isNew?: true;
  /** A date entered by a person, with the previous date and who entered it. */
  readonly date?: {
    readonly before?: { readonly at: Date; readonly by?: string | undefined } | undefined;
    readonly after: Date;
  };
  readonly decision?: ReminderDecision;
  /** The new owner, for a handover. */
  readonly owner?: string;
}

/** The reason for a handover is shown to the new owner. */
export type QuestionAnswer =
  | { readonly kind: 'name_kept' }
  | { readonly kind: 'name_handed_over'; readonly to: string; readonly reason?: string | undefined };

/** Watching or keeping a name cancels its lapse. */
export type ReminderDecision =
  | { readonly kind: 'name_watched' }
  | Exclude<QuestionAnswer, { readonly to: string }>
  /** `subject`: the key of the daily notification to the new owner. */
  | (Extract<QuestionAnswer, { readonly to: string }> & { readonly subject: string })
  | ({
      readonly kind: 'name_snoozed';
      readonly until: Date;
      readonly reason?: string | undefined;
    } & NotificationOrigin)
  /** Renewed elsewhere. Until `staleUntil`, the registry's date counts as outdated. */
  | ({
      readonly kind: 'name_renewed';
      readonly until: Date;
      readonly staleUntil?: Date | undefined;
      readonly reason?: string | undefined;
    } & NotificationOrigin)
  | ({ readonly kind: 'lapse_requested'; readonly reason: string } & NotificationOrigin)
  | ({
      readonly kind: 'lapse_confirmed';
      readonly reason: string;
      readonly askedBy: string;
    } & NotificationOrigin);

interface NotificationOrigin {
  /** Where the notification is posted. */
  readonly origin?: MessagePlace | undefined;
}

export interface ChangedName extends ReminderChange {
  readonly before: NameDetails;
  readonly after: NameDetails | undefined;
}

export const NO_DETAILS: NameDetails = { owner: undefined, tags: [], channel: undefined, note: undefined };

export interface EditedName extends ChangedName {
  readonly after: NameDetails;
}

/**
 * Applies the change to the name's current details. A date can't be rebased and must be requested again.
 * @returns undefined if the change no longer has an effect
 */
export function rebaseChange(
  { name, before, after, decision }: ChangedName,
  currentDetails: NameDetails | undefined,
): ChangedName | undefined {
  if (currentDetails === undefined) return undefined;
  if (after === undefined) return { name, before: currentDetails, after };
  if (decision !== undefined) return { name, before: currentDetails, after: currentDetails, decision };
  const pickChangedField = <Field extends 'owner' | 'channel' | 'note'>(field: Field) =>
    before[field] === after[field] ? {} : { [field]: after[field] ?? null };
  const rebasedDetails = applyDetailsChange(currentDetails, {
    ...pickChangedField('owner'),
    ...pickChangedField('channel'),
    ...pickChangedField('note'),
    addTags: after.tags.filter((tag) => !before.tags.includes(tag)),
    removeTags: before.tags.filter((tag) => !after.tags.includes(tag)),
  });
  return isSameDetails(currentDetails, rebasedDetails)
    ? undefined
    : { name, before: currentDetails, after: rebasedDetails };
}

export function listEditedNames(
  detailsByName: ReadonlyMap<string, NameDetails>,
  edits: ReadonlyMap<string, DetailsChange>,
): readonly EditedName[] {
  return [...detailsByName].flatMap(([name, before]) => {
    const after = applyDetailsChange(before, edits.get(name) ?? {});
    return isSameDetails(before, after) ? [] : [{ name, before, after }];
  });
}

/** Changes that weaken the protection of names. They wait for confirmation. */
export interface ProposedNameChanges {
  readonly names: readonly ChangedName[];
}

/** The limit that a change would exceed: on guarded names, or on watched names. */
export type NameLimit = 'too_many_guarded' | 'list_full';

/** The latest question to a name's owner. */
export const storedQuestionSchema = z.object({
  owner: z.string(),
  /** The expiry day in UTC. */
  expiry: z.string(),
  at: z.coerce.date(),
  /** The key of the daily notification to the owner, which has the question. */
  subject: z.string(),
  /** The previous owner, after a handover. */
  from: z.string().exactOptional(),
  note: z.string().exactOptional(),
  /** Set once the owner has decided to keep the name. */
  kept: z.object({ by: z.string(), at: z.coerce.date() }).exactOptional(),
});
export type OwnerQuestion = Readonly<z.output<typeof storedQuestionSchema>>;

export interface OwnedName {
  readonly owner?: string | undefined;
  /** When the bot learned that the owner had left. */
  readonly ownerLeftAt?: Date | undefined;
  readonly question?: OwnerQuestion | undefined;
  readonly lapse?: { readonly requestedBy: string; readonly confirmed: unknown } | undefined;
}

export interface OwnerAnswer {
  /** `unasked`: the owner hasn't been asked about this expiry. */
  readonly code: 'left' | 'lapse' | 'keep' | 'open' | 'unasked';
  /** The owner, or the person who answered. */
  readonly by: string;
}

export function countNames(zones: readonly { readonly count: number }[]): number {
  return zones.reduce((sum, { count }) => sum + count, 0);
}

export function getExpiry({ expiry, unpublishedRenewal, deletedAt }: NameDates): Date | undefined {
  return pickLaterExpiry(expiry?.at ?? deletedAt, unpublishedRenewal?.until);
}

/** @returns undefined if the owner hasn't been asked about this expiry */
export function findCurrentQuestion(
  { question }: OwnedName,
  expiry: Date | undefined,
): OwnerQuestion | undefined {
  if (question === undefined || expiry === undefined) return undefined;
  return isSameExpiry(new Date(question.expiry), expiry) ? question : undefined;
}

export function getOwnerAnswer(name: OwnedName, expiry: Date | undefined): OwnerAnswer | undefined {
  const { owner, ownerLeftAt, lapse } = name;
  if (owner === undefined) return undefined;
  if (ownerLeftAt !== undefined) return { code: 'left', by: owner };
  if (lapse?.confirmed !== undefined || lapse?.requestedBy === owner)
    return { code: 'lapse', by: lapse.requestedBy };
  const question = findCurrentQuestion(name, expiry);
  if (question?.kept !== undefined) return { code: 'keep', by: question.kept.by };
  return { code: question?.owner === owner ? 'open' : 'unasked', by: owner };
}
