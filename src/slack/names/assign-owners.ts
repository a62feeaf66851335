import { z } from 'zod';
import { EVERY_NAME } from '../../names/filter.ts';
import { countNames } from '../../names/portfolio.ts';
import { displayName } from '../../zones/names.ts';
import type { SlackContext } from '../context.ts';
import { type ActionCall, type Feature, type FormFeature, formOrigin, type Rendered } from '../feature.ts';
import { LIMITS, section, textMessage } from '../kit/blocks.ts';
import { field, fieldsOf, readForm } from '../kit/form.ts';
import { openForm } from '../open-form.ts';
import { editedText } from './fact-changes.ts';
import { EVERY_NAME_OWNED, ownedSinceText } from './owner.view.ts';
import { neededOwner } from './owner-fields.ts';
import { ownerIssue } from './owners.ts';
import { onlyFirstText, ownersIssueText } from './portfolio.view.ts';

/* Gives an owner to names that have none, or whose owner has left. */

/** All names without an owner. */
const ALL = 'all';

interface OwnerlessNames {
  readonly names: readonly string[];
  readonly total: number;
}

/**
 * Names that need an owner, soonest to expire first, as many as a menu takes. @param subject the person who left, or
 * all
 */
export async function ownerlessNames(
  { portfolio, now }: SlackContext,
  subject: string,
): Promise<OwnerlessNames> {
  const query = {
    filter: EVERY_NAME,
    owners: subject === ALL ? [] : [subject],
    needsOwner: true,
    now: now(),
    cursor: undefined,
    isBackward: false,
    limit: LIMITS.options,
  } as const;
  const [rows, zones] = await Promise.all([portfolio.page(query), portfolio.zones(query)]);
  return { names: rows.map(({ name }) => name), total: countNames(zones) };
}

const assigning = z.object({
  names: field({ label: 'Names', kind: 'picks' }, z.array(z.string(), 'Tick at least one name.')),
  owner: neededOwner('Before a name expires, the bot asks this person whether it’s still needed.'),
});
const [namesField, ...fields] = fieldsOf(assigning);
const declared = { name: 'owners', title: 'Assign an owner', submit: 'Save', fields } as const;

function rendered({ names, total }: OwnerlessNames): Rendered {
  const options = names
    .filter((name) => name.length <= LIMITS.optionValue)
    .map((name) => ({ value: name, text: displayName(name) }));
  const intro = total > options.length ? [section(onlyFirstText(options.length, total))] : [];
  return {
    form: { ...declared, fields: [...(namesField ? [{ ...namesField, options }] : []), ...fields] },
    intro,
  };
}

const ownersForm: FormFeature<'owners'> = {
  form: declared,

  render: async ({ context }, { subject = ALL }) => rendered(await ownerlessNames(context, subject)),

  async submit(call) {
    const read = readForm(assigning, call.values);
    if ('errors' in read) return read;
    const { names, owner } = read.value;
    const issue = await ownerIssue(call.context, owner);
    if (issue !== undefined) return { errors: { owner: ownersIssueText(issue) } };
    const owned = (await call.context.expiry.findMany(names)).filter(
      (each) => each.owner !== undefined && each.ownerLeftAt === undefined,
    );
    if (owned.length > 0) return { errors: { names: ownedSinceText(owned.map(({ name }) => name)) } };
    const edits = new Map(names.map((name) => [name, { owner }]));
    const outcome = await call.context.facts.change(edits, call.person.id, call.origin);
    return { say: textMessage(await editedText(call, outcome, names.length === 1)) };
  },
};

async function openOwners(call: ActionCall): Promise<void> {
  const found = await ownerlessNames(call.context, call.value);
  if (found.names.length === 0) return call.respond(EVERY_NAME_OWNED);
  const form = { ...ownersForm, render: () => rendered(found) };
  await openForm(call, form, formOrigin(call, call.value));
}

export const assignOwners = {
  forms: [ownersForm],
  actions: [{ id: 'owners_assign', run: openOwners }],
} as const satisfies Feature;
