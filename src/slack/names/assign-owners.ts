import { z } from 'zod';
import { NO_FILTER } from '../../names/filter.ts';
import { countNames } from '../../names/portfolio.ts';
import { displayName } from '../../zones/names.ts';
import type { SlackContext } from '../context.ts';
import {
  type ActionCall,
  type Feature,
  type FormFeature,
  type FormOverrides,
  toFormOrigin,
} from '../feature.ts';
import { LIMITS, section, textMessage } from '../kit/blocks.ts';
import { field, readForm, toFields } from '../kit/form.ts';
import { openForm } from '../open-form.ts';
import { completeEdit } from './name-changes.ts';
import { alreadyOwnedText, EVERY_NAME_OWNED } from './owner.view.ts';
import { requiredOwnerField } from './owner-fields.ts';
import { findOwnerIssue } from './owners.ts';
import { onlyFirstText, ownersIssueText } from './portfolio.view.ts';

/* Assigns an owner to names that have none or whose owner has left. */

/** Used instead of a person, for all names without an owner. */
const ALL = 'all';

interface OwnerlessNames {
  readonly names: readonly string[];
  readonly total: number;
}

/**
 * Names that need an owner, soonest expiry first, as many as fit in a menu.
 * @param subject the person who left, or {@link ALL}
 */
export async function findOwnerlessNames(
  { portfolio, now }: SlackContext,
  subject: string,
): Promise<OwnerlessNames> {
  const query = {
    filter: NO_FILTER,
    owners: subject === ALL ? [] : [subject],
    needsOwner: true,
    now: now(),
    cursor: undefined,
    isBackward: false,
    limit: LIMITS.options,
  } as const;
  const [rows, zones] = await Promise.all([portfolio.listPage(query), portfolio.listZones(query)]);
  return { names: rows.map(({ name }) => name), total: countNames(zones) };
}

const ownersSchema = z.object({
  names: field({ label: 'Names', kind: 'multi_select' }, z.array(z.string(), 'Select at least one name.')),
  owner: requiredOwnerField('Before a name expires, I ask this person whether it’s still needed.'),
});
const [namesField, ...fields] = toFields(ownersSchema);
const ownersDeclaration = { name: 'owners', title: 'Assign an owner', submit: 'Save', fields } as const;

function renderOwners({ names, total }: OwnerlessNames): FormOverrides {
  const options = names
    .filter((name) => name.length <= LIMITS.optionValue)
    .map((name) => ({ value: name, text: displayName(name) }));
  const intro = total > options.length ? [section(onlyFirstText(options.length, total))] : [];
  return {
    form: { ...ownersDeclaration, fields: [...(namesField ? [{ ...namesField, options }] : []), ...fields] },
    intro,
  };
}

const ownersForm: FormFeature<'owners'> = {
  form: ownersDeclaration,

  render: async ({ context }, { subject = ALL }) => renderOwners(await findOwnerlessNames(context, subject)),

  async submit(call) {
    const read = readForm(ownersSchema, call.values);
    if ('errors' in read) return read;
    const { names, owner } = read.value;
    const issue = await findOwnerIssue(call.context, owner);
    if (issue !== undefined) return { errors: { owner: ownersIssueText(issue) } };
    const owned = (await call.context.expiry.findMany(names)).filter(
      (each) => each.owner !== undefined && each.ownerLeftAt === undefined,
    );
    if (owned.length > 0) return { errors: { names: alreadyOwnedText(owned.map(({ name }) => name)) } };
    const edits = new Map(names.map((name) => [name, { owner }]));
    const outcome = await call.context.facts.change(edits, call.person.id, call.origin);
    return { say: textMessage(await completeEdit(call, outcome, names.length === 1)) };
  },
};

async function openOwners(call: ActionCall): Promise<void> {
  const found = await findOwnerlessNames(call.context, call.value);
  if (found.names.length === 0) return call.respond(EVERY_NAME_OWNED);
  const form = { ...ownersForm, render: () => renderOwners(found) };
  await openForm(call, form, toFormOrigin(call, call.value));
}

export const assignOwners = {
  forms: [ownersForm],
  actions: [{ id: 'owners_assign', run: openOwners }],
} as const satisfies Feature;
