import type { MessagePlace } from '../outbox/notifications.ts';

/* Who owns a name and how the team treats it: what people set themselves, beside what registries and the DNS show. */

/** What people have set for a watched name. */
export interface NameDetails {
  /** Slack user id. */
  readonly owner: string | undefined;
  /** In lower case, sorted, each once. */
  readonly tags: readonly string[];
  /** Where its reminders go instead of the common channel, and its incidents besides. */
  readonly channel: string | undefined;
  readonly note: string | undefined;
}

/** The columns of files for what people have set. */
export const DETAIL_COLUMNS = ['owner', 'tags', 'channel', 'note'] as const;

/** What people have set for a name, as cells of {@link DETAIL_COLUMNS}. */
export function detailCells({ owner = '', tags, channel = '', note = '' }: NameDetails): string[] {
  return [owner, tags.join(' '), channel, note];
}

/** The changes to make. A field that is left out stays, `null` clears it. */
export interface DetailsChange {
  readonly owner?: string | null;
  readonly tags?: readonly string[];
  /** Tags to add to those that each name has, instead of {@link DetailsChange.tags}. */
  readonly addTags?: readonly string[];
  readonly removeTags?: readonly string[];
  readonly channel?: string | null;
  readonly note?: string | null;
}

/** Names with this tag are looked at by the minute, and that a change was ours needs two people. */
export const GUARDED = 'guarded';
/** In a filter it stands for names without a value, so no tag can have this name. */
export const NONE = 'none';

export const MAX_TAGS = 20;
const MAX_TAG = 40;
export const MAX_NOTE = 500;
/** Each is looked up once a minute, and the lookups of one parent zone share a budget. */
export const MAX_GUARDED = 1_000;
/** More names than a team watches. Lookups share the budgets of the registries. */
export const MAX_WATCHED = 25_000;
/** As many names are imported at a time as the watch list takes. */
export const MAX_IMPORTED_NAMES = 20_000;
/** Letters and digits of any script, and characters that join words. */
const TAG = /^[\p{L}\p{M}\p{Nd}][\p{L}\p{M}\p{Nd}_.-]*$/u;

export type TagIssue =
  | { readonly code: 'not_a_tag' | 'long_tag'; readonly tag: string }
  | { readonly code: 'reserved_tag'; readonly tag: string }
  | { readonly code: 'too_many_tags' };

/** Reads tags as people type them: separated by commas, lines or `#`; the blanks within one become hyphens. */
export function readTags(
  text: string,
):
  | { readonly ok: true; readonly tags: readonly string[] }
  | { readonly ok: false; readonly issues: readonly TagIssue[] } {
  const words = text
    .split(/[,;\n#]+/)
    .map((word) => word.trim().replace(/\s+/g, '-').normalize('NFC').toLowerCase())
    .filter((word) => word !== '');
  const tags = sortedTags(words);
  const issues = tags.flatMap((tag): TagIssue[] => {
    if (tag === NONE) return [{ code: 'reserved_tag', tag }];
    if (tag.length > MAX_TAG) return [{ code: 'long_tag', tag }];
    return TAG.test(tag) ? [] : [{ code: 'not_a_tag', tag }];
  });
  if (tags.length > MAX_TAGS) issues.push({ code: 'too_many_tags' });
  return issues.length > 0 ? { ok: false, issues } : { ok: true, tags };
}

function sortedTags(tags: readonly string[]): string[] {
  return [...new Set(tags)].sort();
}

function changedDetails(before: NameDetails, change: DetailsChange): NameDetails {
  const kept = <T>(given: T | null | undefined, stands: T | undefined): T | undefined =>
    given === undefined ? stands : (given ?? undefined);
  const removed = new Set(change.removeTags ?? []);
  const tags = [...(change.tags ?? before.tags), ...(change.addTags ?? [])];
  return {
    owner: kept(change.owner, before.owner),
    tags: sortedTags(tags.filter((tag) => !removed.has(tag))),
    channel: kept(change.channel, before.channel),
    note: kept(change.note, before.note),
  };
}

/** Whether two have the same content. */
export function isSameDetails(a: NameDetails, b: NameDetails): boolean {
  return (
    a.owner === b.owner &&
    a.channel === b.channel &&
    a.note === b.note &&
    a.tags.length === b.tags.length &&
    a.tags.every((tag, index) => tag === b.tags[index])
  );
}

/** Changes of a name besides its details. */
export interface ReminderChange {
  readonly name: string;
  /** It isn't on the watch list yet. */
  readonly isNew?: true;
  /** The new date that a person gives, with the date that a person gave before and who gave it. */
  readonly date?: {
    readonly before?: { readonly at: Date; readonly by?: string | undefined } | undefined;
    readonly after: Date;
  };
  readonly decision?: ReminderDecision;
}

/** A decision about the reminders of a name. Watching it again ends its lapse. */
export type ReminderDecision =
  | { readonly kind: 'name_watched' }
  | ({ readonly kind: 'name_snoozed'; readonly until: Date; readonly reason?: string | undefined } & Told)
  | ({ readonly kind: 'lapse_requested'; readonly reason: string } & Told)
  | ({ readonly kind: 'lapse_confirmed'; readonly reason: string; readonly askedBy: string } & Told);

interface Told {
  /** Where it is told. */
  readonly origin?: MessagePlace | undefined;
}

/** A name whose protected fields change. */
export interface ChangedName extends ReminderChange {
  readonly before: NameDetails;
  /** Undefined: it is taken off the watch list. */
  readonly after: NameDetails | undefined;
}

/** The details of a name that was just put on the list. */
export const NO_DETAILS: NameDetails = { owner: undefined, tags: [], channel: undefined, note: undefined };

/** A name whose details change while it stays on the watch list. */
export interface EditedName extends ChangedName {
  readonly after: NameDetails;
}

/** The same change of a name as it is now; undefined where nothing is left of it. A date is asked for again by a person. */
export function rebased(
  { name, before, after, decision }: ChangedName,
  now: NameDetails | undefined,
): ChangedName | undefined {
  if (now === undefined) return undefined;
  if (after === undefined) return { name, before: now, after };
  if (decision !== undefined) return { name, before: now, after: now, decision };
  const changed = <Field extends 'owner' | 'channel' | 'note'>(field: Field) =>
    before[field] === after[field] ? {} : { [field]: after[field] ?? null };
  const next = changedDetails(now, {
    ...{ ...changed('owner'), ...changed('channel'), ...changed('note') },
    addTags: after.tags.filter((tag) => !before.tags.includes(tag)),
    removeTags: before.tags.filter((tag) => !after.tags.includes(tag)),
  });
  return isSameDetails(now, next) ? undefined : { name, before: now, after: next };
}

export function editedNames(
  found: ReadonlyMap<string, NameDetails>,
  edits: ReadonlyMap<string, DetailsChange>,
): readonly EditedName[] {
  return [...found].flatMap(([name, before]) => {
    const after = changedDetails(before, edits.get(name) ?? {});
    return isSameDetails(before, after) ? [] : [{ name, before, after }];
  });
}

/** Changes that weaken the protection of names. They wait for confirmation. */
export interface FactsChange {
  readonly names: readonly ChangedName[];
}

/** The limit that a change would exceed: guarded names, or watched names. */
export type NameLimit = 'too_many_guarded' | 'list_full';
