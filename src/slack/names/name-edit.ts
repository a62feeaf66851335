import { type DetailsChange, MAX_NOTE, type NameDetails, readTags } from '../../names/portfolio.ts';
import { displayName, parseDomainName } from '../../zones/names.ts';
import { formatWatchRefusal } from '../expiry/watch-list.view.ts';
import {
  type ActionCall,
  type Feature,
  type FormFeature,
  formOrigin,
  linesOf,
  type SubmissionCall,
  type Submitted,
  textOf,
} from '../feature.ts';
import { ownSentence, textMessage } from '../kit/blocks.ts';
import type { Field, Form, FormValues } from '../kit/form.ts';
import { cleanReason } from '../kit/parse.ts';
import { openForm } from '../orders/ordering.ts';
import { editedText } from './fact-changes.ts';
import { ownersIssue } from './owners.ts';
import { ownersIssueText, tagIssueText } from './portfolio.view.ts';
import { zoneIssueText } from './zone-issue.view.ts';

/*
 * What people set for names: owner, tags, channel and note, for one name or for several ticked ones.
 */

const OWNER: Field = {
  name: 'owner',
  label: 'Owner',
  kind: 'person',
  optional: true,
  hint: 'Is mentioned in its reminders, or told directly where no channel is set.',
};
const TAGS: Field = {
  name: 'tags',
  label: 'Tags',
  kind: 'text',
  optional: true,
  placeholder: 'brand, client-acme',
  hint: 'Rules, budgets and filters go by them. A name tagged guarded is looked at every few hours.',
};
const CHANNEL: Field = {
  name: 'channel',
  label: 'Channel',
  kind: 'channel',
  optional: true,
  hint: 'Its reminders go there instead of the common channel, and its alarms besides. Invite me there first.',
};
const NOTE: Field = { name: 'note', label: 'Note', kind: 'text', optional: true };

const form: Form = {
  name: 'name_edit',
  title: 'Owner, tags, channel',
  submit: 'Save',
  fields: [OWNER, TAGS, CHANNEL, NOTE],
};

/** Slack's menus of people and channels cannot be emptied, so a checkbox clears them. */
function clearField(details: Pick<NameDetails, 'owner' | 'channel'>): Field[] {
  const options = [
    ...(details.owner === undefined ? [] : [{ value: 'owner', text: 'No owner' }]),
    ...(details.channel === undefined ? [] : [{ value: 'channel', text: 'No channel of its own' }]),
  ];
  return options.length === 0
    ? []
    : [{ name: 'clear', label: 'Take away', kind: 'choices', options, optional: true }];
}

const ANY = { owner: '', channel: '' };

function severalForm(names: readonly string[]): Form {
  const options = names.map((name) => ({ value: name, text: displayName(name) }));
  return {
    ...form,
    fields: [
      { name: 'names', label: 'Names', kind: 'picks', options },
      { ...OWNER, hint: 'Left empty, each keeps its owner.' },
      {
        ...TAGS,
        hint: 'Added to those that each name has. With a hyphen in front, -brand, a tag is taken away.',
      },
      { ...CHANNEL, hint: 'Left empty, each keeps its channel.' },
      { ...NOTE, hint: 'Left empty, each keeps its note.' },
      ...clearField(ANY),
    ],
  };
}

export const nameEditForm: FormFeature = {
  form,
  needs: 'member',

  async render(call, origin, values) {
    if (origin.subject === undefined) {
      return { form: severalForm(linesOf(values, 'names')) };
    }
    const details = await call.deps.portfolio.find(origin.subject);
    if (details === undefined) return {};
    const { owner, tags, channel, note } = details;
    return {
      form: { ...form, fields: [...form.fields, ...clearField(details)] },
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
    call.origin.subject === undefined ? saveSeveral(call) : saveOne(call, call.origin.subject),
};

/** The values of the fields that one name and several have in common. */
function pickedChange(values: FormValues): Pick<DetailsChange, 'owner' | 'channel'> {
  const cleared = linesOf(values, 'clear');
  const [owner, channel] = [textOf(values, 'owner'), textOf(values, 'channel')];
  return {
    ...(cleared.includes('owner') ? { owner: null } : owner === undefined ? {} : { owner }),
    ...(cleared.includes('channel') ? { channel: null } : channel === undefined ? {} : { channel }),
  };
}

/** A note on one line, or what is wrong with it. */
function readNote(values: FormValues): { readonly note: string | undefined } | { readonly issue: string } {
  const note = cleanReason(textOf(values, 'note') ?? '');
  return note !== undefined && note.length > MAX_NOTE
    ? { issue: `Use at most ${MAX_NOTE} characters.` }
    : { note };
}

async function saveOne(call: SubmissionCall, name: string): Promise<Submitted> {
  const { values } = call;
  const [tags, note] = [readTags(textOf(values, 'tags') ?? ''), readNote(values)];
  const errors = {
    ...(tags.ok ? {} : { tags: tags.issues.map(tagIssueText).join(' ') }),
    ...('issue' in note ? { note: note.issue } : {}),
  };
  if (!tags.ok || 'issue' in note) return { errors };
  if ((await call.deps.portfolio.find(name)) === undefined) {
    return { errors: { tags: formatWatchRefusal({ code: 'not_watched', name }) } };
  }
  const change = { ...pickedChange(values), tags: tags.tags, note: note.note ?? null };
  return save(call, new Map([[name, change]]));
}

async function saveSeveral(call: SubmissionCall): Promise<Submitted> {
  const { values } = call;
  const words = (textOf(values, 'tags') ?? '').split(/[\s,;]+/);
  const isRemoved = (word: string) => /^[-–—]./.test(word);
  const added = readTags(words.filter((word) => !isRemoved(word)).join(' '));
  const removed = readTags(
    words
      .filter(isRemoved)
      .map((word) => word.slice(1))
      .join(' '),
  );
  const note = readNote(values);
  const issues = [added, removed].flatMap((read) => (read.ok ? [] : read.issues));
  const errors = {
    ...(issues.length === 0 ? {} : { tags: issues.map(tagIssueText).join(' ') }),
    ...('issue' in note ? { note: note.issue } : {}),
  };
  if (!added.ok || !removed.ok || 'issue' in note) return { errors };
  const change: DetailsChange = {
    ...pickedChange(values),
    addTags: added.tags,
    removeTags: removed.tags,
    ...(note.note === undefined ? {} : { note: note.note }),
  };
  return save(call, new Map(linesOf(values, 'names').map((name) => [name, change])));
}

async function save(call: SubmissionCall, changes: ReadonlyMap<string, DetailsChange>): Promise<Submitted> {
  const owners = await ownersIssue(
    call.deps,
    [...changes.values()].map(({ owner }) => owner),
  );
  if (owners !== undefined) return { errors: { owner: ownersIssueText(owners) } };
  const outcome = await call.deps.facts.change(changes, call.person.id, call.origin);
  return { say: textMessage(await editedText(call, outcome, changes.size === 1)) };
}

async function openNameEdit(call: ActionCall): Promise<void> {
  const parsed = parseDomainName(call.value);
  if (!parsed.ok) return call.respond(ownSentence(zoneIssueText(parsed.issue)));
  const name = parsed.value.ascii;
  if ((await call.deps.portfolio.find(name)) === undefined) {
    return call.respond(ownSentence(formatWatchRefusal({ code: 'not_watched', name })));
  }
  await openForm(call, nameEditForm, formOrigin(call, name));
}

export const nameEdit: Feature = {
  forms: [nameEditForm],
  actions: [{ id: 'name_edit', needs: 'member', run: openNameEdit }],
};
