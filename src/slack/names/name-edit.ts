import { z } from 'zod';
import { type DetailsChange, parseTags } from '../../names/portfolio.ts';
import { formatDomainName, parseDomainName } from '../../zones/names.ts';
import type { SlackContext } from '../context.ts';
import { formatName } from '../expiry/expiry.view.ts';
import { formatWatchRefusal } from '../expiry/watch-list.view.ts';
import {
  type ActionCall,
  type Feature,
  type FormFeature,
  type SubmissionCall,
  type SubmissionResult,
  toFormOrigin,
} from '../feature.ts';
import { escapeExceptCode, section, textMessage } from '../kit/blocks.ts';
import {
  type FieldDisplay,
  type Form,
  field,
  parseForm,
  splitLines,
  toFields,
  toOptions,
} from '../kit/form.ts';
import { openForm } from '../open-form.ts';
import { tryPosting } from '../outbound/post-message.ts';
import { formatChannelError } from '../outbound/slack-error.view.ts';
import { SlackApiError } from '../outbound/web.ts';
import { completeEdit } from './name-changes.ts';
import { noteField, ownerField } from './owner-fields.ts';
import { findNewOwnersIssue } from './owners.ts';
import { incompleteFormText, ownersIssueText, tagIssueText } from './portfolio.view.ts';
import { formatZoneIssue } from './zone-issue.view.ts';

/* Edits the owner, tags, channel and note of one or more names. */

const TAGS_DISPLAY: FieldDisplay = {
  label: 'Tags',
  kind: 'text',
  placeholder: 'brand, client-acme',
  hint: 'Used by rules, budgets and filters. Names tagged guarded are checked every minute.',
};
const CHANNEL_DISPLAY: FieldDisplay = {
  label: 'Channel',
  kind: 'channel',
  hint: 'Reminders go here instead of the reminder channel, alarms go to both. Invite me there first.',
};

const optionalIdSchema = z.string().optional();
const tagsSchema = z.string().default('').transform(parseTagsField);
const clearSchema = z.array(z.enum(['owner', 'channel'])).default([]);

function parseTagsField(text: string, context: z.RefinementCtx): readonly string[] {
  const parsed = parseTags(text);
  if (parsed.ok) return parsed.tags;
  context.addIssue(parsed.issues.map(tagIssueText).join(' '));
  return z.NEVER;
}

const singleSchema = z.object({
  owner: ownerField(),
  tags: field(TAGS_DISPLAY, tagsSchema),
  channel: field(CHANNEL_DISPLAY, optionalIdSchema),
  note: noteField(),
});

const bulkSchema = z.object({
  names: field({ label: 'Names', kind: 'multi_select' }, z.array(z.string(), 'Select at least one name.')),
  owner: ownerField({ hint: 'Leave empty to keep each name’s owner.' }),
  tags: field(
    {
      ...TAGS_DISPLAY,
      hint: 'Adds these tags. To remove a tag, put a hyphen before it, such as -brand.',
    },
    z
      .string()
      .default('')
      .transform((text, context) => {
        const words = text.split(/[\s,;]+/);
        const isRemoved = (word: string) => /^[-–—]./.test(word);
        const added = words.filter((word) => !isRemoved(word)).join(' ');
        const removed = words.filter(isRemoved).map((word) => word.slice(1));
        return { added: parseTagsField(added, context), removed: parseTagsField(removed.join(' '), context) };
      }),
  ),
  channel: field({ ...CHANNEL_DISPLAY, hint: 'Leave empty to keep each name’s channel.' }, optionalIdSchema),
  note: noteField({ hint: 'Leave empty to keep each name’s note.' }),
});

const baseForm: Form<'name_edit'> = {
  name: 'name_edit',
  title: 'Edit owner and tags',
  submit: 'Save',
  fields: toFields(singleSchema),
};

/** Adds checkboxes that remove the owner and channel, because Slack's pickers can't be cleared. */
function addClearField(
  schema: z.ZodObject,
  details: { readonly owner?: string | undefined; readonly channel?: string | undefined },
): z.ZodObject {
  const { owner, channel } = details;
  if (owner === undefined && channel === undefined) return schema;
  const display: FieldDisplay = {
    label: 'Remove',
    kind: 'checkboxes',
    options: toOptions({
      ...(owner === undefined ? {} : { owner: 'Owner' }),
      ...(channel === undefined ? {} : { channel: 'Channel' }),
    }),
  };
  return schema.extend({ clear: field(display, clearSchema) });
}

const CLEAR_FIELD = { clear: field({ label: 'Remove', kind: 'checkboxes' }, clearSchema) };

function createBulkForm(names: readonly string[]): Form {
  const options = names.map((name) => ({ value: name, text: formatDomainName(name) }));
  const fields = toFields(addClearField(bulkSchema, { owner: '', channel: '' }));
  return { ...baseForm, fields: fields.map((item) => (item.name === 'names' ? { ...item, options } : item)) };
}

export const nameEditForm: FormFeature<'name_edit'> = {
  form: baseForm,

  async render(call, origin, values) {
    if (origin.subject === undefined) {
      const names = splitLines(values['names']);
      const total = Number(values['found'] ?? 0);
      const intro = total > names.length ? [section(incompleteFormText(names.length, total))] : [];
      return { form: createBulkForm(names), intro };
    }
    const details = await call.context.portfolio.find(origin.subject);
    if (details === undefined) return {};
    const { owner, tags, channel, note } = details;
    return {
      form: { ...baseForm, fields: toFields(addClearField(singleSchema, details)) },
      intro: [section(formatName(origin.subject))],
      values: {
        ...(owner === undefined ? {} : { owner }),
        tags: tags.join(', '),
        ...(channel === undefined ? {} : { channel }),
        ...(note === undefined ? {} : { note }),
        ...values,
      },
    };
  },

  submit: (call) =>
    call.origin.subject === undefined ? saveBulk(call) : saveSingle(call, call.origin.subject),
};

function toDetailsChange(values: {
  readonly owner?: string | undefined;
  readonly channel?: string | undefined;
  readonly clear: readonly string[];
}): DetailsChange {
  const { owner, channel, clear: clearedFields } = values;
  return {
    ...(clearedFields.includes('owner') ? { owner: null } : owner === undefined ? {} : { owner }),
    ...(clearedFields.includes('channel') ? { channel: null } : channel === undefined ? {} : { channel }),
  };
}

async function saveSingle(call: SubmissionCall, name: string): Promise<SubmissionResult> {
  const parsed = parseForm(singleSchema.extend(CLEAR_FIELD), call.values);
  if ('errors' in parsed) return parsed;
  const current = await call.context.portfolio.find(name);
  if (current === undefined) return { errors: { tags: formatWatchRefusal({ code: 'not_watched', name }) } };
  const { tags: newTags, note = null, owner } = parsed.value;
  // An owner who has left can stay, so an unchanged owner isn't checked.
  const change = toDetailsChange({ ...parsed.value, owner: owner === current.owner ? undefined : owner });
  return saveChanges(call, new Map([[name, { ...change, tags: newTags, note }]]), current.channel);
}

async function saveBulk(call: SubmissionCall): Promise<SubmissionResult> {
  const parsed = parseForm(bulkSchema.extend(CLEAR_FIELD), call.values);
  if ('errors' in parsed) return parsed;
  const { names, tags: tagChanges, note } = parsed.value;
  const change: DetailsChange = {
    ...toDetailsChange(parsed.value),
    addTags: tagChanges.added,
    removeTags: tagChanges.removed,
    ...(note === undefined ? {} : { note }),
  };
  return saveChanges(call, new Map(names.map((name) => [name, change])));
}

async function saveChanges(
  call: SubmissionCall,
  changes: ReadonlyMap<string, DetailsChange>,
  currentChannel?: string,
): Promise<SubmissionResult> {
  const ownersIssue = await findNewOwnersIssue(
    call.context,
    [...changes.values()].map(({ owner }) => owner),
  );
  if (ownersIssue !== undefined) return { errors: { owner: ownersIssueText(ownersIssue) } };
  // All names get the same channel.
  const [{ channel } = {}] = changes.values();
  const isNewChannel = typeof channel === 'string' && channel !== currentChannel;
  const channelIssue = await findChannelIssue(call.context, isNewChannel ? [channel] : []);
  if (channelIssue !== undefined) return { errors: { channel: channelIssue.text } };
  const outcome = await call.context.protectedChanges.changeDetails(changes, call.person.id, call.origin);
  return { reply: textMessage(await completeEdit(call, outcome, changes.size === 1)) };
}

export async function findChannelIssue(
  { web }: SlackContext,
  channelIds: Iterable<string>,
): Promise<{ readonly channelId: string; readonly text: string } | undefined> {
  for (const channelId of channelIds) {
    try {
      await tryPosting(web, channelId);
    } catch (error) {
      if (!(error instanceof SlackApiError)) throw error;
      return { channelId, text: formatChannelError(error) };
    }
  }
  return undefined;
}

async function openNameEdit(call: ActionCall): Promise<void> {
  const parsed = parseDomainName(call.value);
  if (!parsed.ok) return call.respond(escapeExceptCode(formatZoneIssue(parsed.issue)));
  const name = parsed.value.ascii;
  if ((await call.context.portfolio.find(name)) === undefined) {
    return call.respond(escapeExceptCode(formatWatchRefusal({ code: 'not_watched', name })));
  }
  await openForm(call, nameEditForm, toFormOrigin(call, name));
}

export const nameEdit = {
  forms: [nameEditForm],
  actions: [{ id: 'name_edit', run: openNameEdit }],
} as const satisfies Feature;
