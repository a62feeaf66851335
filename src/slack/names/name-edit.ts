import { z } from 'zod';
import { type DetailsChange, parseTags } from '../../names/portfolio.ts';
import { displayName, parseDomainName } from '../../zones/names.ts';
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
import { ownSentence, section, textMessage } from '../kit/blocks.ts';
import {
  type FieldDisplay,
  type Form,
  field,
  readForm,
  splitLines,
  toFields,
  toOptions,
} from '../kit/form.ts';
import { openForm } from '../open-form.ts';
import { tryPosting } from '../outbound/post-message.ts';
import { channelError } from '../outbound/slack-error.view.ts';
import { SlackApiError } from '../outbound/web.ts';
import { completeEdit } from './name-changes.ts';
import { noteField, ownerField } from './owner-fields.ts';
import { findOwnersIssue } from './owners.ts';
import { onlyFirstText, ownersIssueText, tagIssueText } from './portfolio.view.ts';
import { zoneIssueText } from './zone-issue.view.ts';

/* Edits owner, tags, channel and note of one name or several selected names. */

const TAGS: FieldDisplay = {
  label: 'Tags',
  kind: 'text',
  placeholder: 'brand, client-acme',
  hint: 'Used by rules, budgets and filters. Names tagged guarded are checked every minute.',
};
const CHANNEL: FieldDisplay = {
  label: 'Channel',
  kind: 'channel',
  hint: 'Reminders go here instead of the reminder channel, alarms go to both. Invite me there first.',
};

const id = z.string().optional();
const tags = z.string().default('').transform(parseTagsField);
/** For forms that can clear fields. */
const clear = z.array(z.enum(['owner', 'channel'])).default([]);

function parseTagsField(text: string, context: z.RefinementCtx): readonly string[] {
  const read = parseTags(text);
  if (read.ok) return read.tags;
  context.addIssue(read.issues.map(tagIssueText).join(' '));
  return z.NEVER;
}

const singleSchema = z.object({
  owner: ownerField(),
  tags: field(TAGS, tags),
  channel: field(CHANNEL, id),
  note: noteField(),
});

const bulkSchema = z.object({
  names: field({ label: 'Names', kind: 'multi_select' }, z.array(z.string(), 'Select at least one name.')),
  owner: ownerField({ hint: 'Leave empty to keep each name’s owner.' }),
  tags: field(
    {
      ...TAGS,
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
  channel: field({ ...CHANNEL, hint: 'Leave empty to keep each name’s channel.' }, id),
  note: noteField({ hint: 'Leave empty to keep each name’s note.' }),
});

const form: Form<'name_edit'> = {
  name: 'name_edit',
  title: 'Edit owner, tags',
  submit: 'Save',
  fields: toFields(singleSchema),
};

/** Slack's pickers for people and channels can't be cleared, so there are checkboxes to do it. */
function addClearField(
  declared: z.ZodObject,
  details: { readonly owner?: string | undefined; readonly channel?: string | undefined },
): z.ZodObject {
  const { owner, channel } = details;
  if (owner === undefined && channel === undefined) return declared;
  const display: FieldDisplay = {
    label: 'Remove',
    kind: 'checkboxes',
    options: toOptions({
      ...(owner === undefined ? {} : { owner: 'Owner' }),
      ...(channel === undefined ? {} : { channel: 'Channel' }),
    }),
  };
  return declared.extend({ clear: field(display, clear) });
}

const BOTH_SET = { owner: '', channel: '' };
const CLEAR_FIELD = { clear: field({ label: 'Remove', kind: 'checkboxes' }, clear) };

function createBulkForm(names: readonly string[]): Form {
  const options = names.map((name) => ({ value: name, text: displayName(name) }));
  const fields = toFields(addClearField(bulkSchema, BOTH_SET));
  return { ...form, fields: fields.map((each) => (each.name === 'names' ? { ...each, options } : each)) };
}

export const nameEditForm: FormFeature<'name_edit'> = {
  form,

  async render(call, origin, values) {
    if (origin.subject === undefined) {
      const names = splitLines(values['names']);
      const found = Number(values['found'] ?? 0);
      const intro = found > names.length ? [section(onlyFirstText(names.length, found))] : [];
      return { form: createBulkForm(names), intro };
    }
    const details = await call.context.portfolio.find(origin.subject);
    if (details === undefined) return {};
    const { owner, tags, channel, note } = details;
    return {
      form: { ...form, fields: toFields(addClearField(singleSchema, details)) },
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

  submit: (call) => (call.origin.subject === undefined ? saveBulk(call) : saveOne(call, call.origin.subject)),
};

function toDetailsChange(picked: {
  readonly owner?: string | undefined;
  readonly channel?: string | undefined;
  readonly clear: readonly string[];
}): DetailsChange {
  const { owner, channel, clear: cleared } = picked;
  return {
    ...(cleared.includes('owner') ? { owner: null } : owner === undefined ? {} : { owner }),
    ...(cleared.includes('channel') ? { channel: null } : channel === undefined ? {} : { channel }),
  };
}

async function saveOne(call: SubmissionCall, name: string): Promise<SubmissionResult> {
  const read = readForm(singleSchema.extend(CLEAR_FIELD), call.values);
  if ('errors' in read) return read;
  const former = await call.context.portfolio.find(name);
  if (former === undefined) return { errors: { tags: formatWatchRefusal({ code: 'not_watched', name }) } };
  const { tags: set, note = null, owner } = read.value;
  // An owner who has left stays until the name gets a new one.
  const picked = toDetailsChange({ ...read.value, owner: owner === former.owner ? undefined : owner });
  return save(call, new Map([[name, { ...picked, tags: set, note }]]), former.channel);
}

async function saveBulk(call: SubmissionCall): Promise<SubmissionResult> {
  const read = readForm(bulkSchema.extend(CLEAR_FIELD), call.values);
  if ('errors' in read) return read;
  const { names, tags: edited, note } = read.value;
  const change: DetailsChange = {
    ...toDetailsChange(read.value),
    addTags: edited.added,
    removeTags: edited.removed,
    ...(note === undefined ? {} : { note }),
  };
  return save(call, new Map(names.map((name) => [name, change])));
}

async function save(
  call: SubmissionCall,
  changes: ReadonlyMap<string, DetailsChange>,
  formerChannel?: string,
): Promise<SubmissionResult> {
  const owners = await findOwnersIssue(
    call.context,
    [...changes.values()].map(({ owner }) => owner),
  );
  if (owners !== undefined) return { errors: { owner: ownersIssueText(owners) } };
  // All names get the same channel.
  const [{ channel } = {}] = changes.values();
  const isNewChannel = typeof channel === 'string' && channel !== formerChannel;
  const channelIssue = await findChannelIssue(call.context, isNewChannel ? [channel] : []);
  if (channelIssue !== undefined) return { errors: { channel: channelIssue.text } };
  const outcome = await call.context.facts.change(changes, call.person.id, call.origin);
  return { say: textMessage(await completeEdit(call, outcome, changes.size === 1)) };
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
      return { channelId, text: channelError(error) };
    }
  }
  return undefined;
}

async function openNameEdit(call: ActionCall): Promise<void> {
  const parsed = parseDomainName(call.value);
  if (!parsed.ok) return call.respond(ownSentence(zoneIssueText(parsed.issue)));
  const name = parsed.value.ascii;
  if ((await call.context.portfolio.find(name)) === undefined) {
    return call.respond(ownSentence(formatWatchRefusal({ code: 'not_watched', name })));
  }
  await openForm(call, nameEditForm, toFormOrigin(call, name));
}

export const nameEdit = {
  forms: [nameEditForm],
  actions: [{ id: 'name_edit', run: openNameEdit }],
} as const satisfies Feature;
