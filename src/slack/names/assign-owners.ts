import { z } from 'zod';
import { NO_FILTER } from '../../names/filter.ts';
import { countNames } from '../../names/portfolio.ts';
import { formatDomainName } from '../../zones/names.ts';
import type { SlackContext } from '../context.ts';
import {
  type ActionCall,
  type Feature,
  type FormFeature,
  type FormOverrides,
  toFormOrigin,
} from '../feature.ts';
import { LIMITS, section, textMessage } from '../kit/blocks.ts';
import { field, parseForm, toFields } from '../kit/form.ts';
import { openForm } from '../open-form.ts';
import { completeEdit } from './name-changes.ts';
import { ALL_NAMES_OWNED_TEXT, alreadyOwnedText, EVERY_OWNERLESS_NAME } from './owner.view.ts';
import { requiredOwnerField } from './owner-fields.ts';
import { findOwnerIssue } from './owners.ts';
import { incompleteFormText, ownersIssueText } from './portfolio.view.ts';

interface OwnerlessNames {
  readonly names: readonly string[];
  readonly total: number;
}

/**
 * Names that need an owner, soonest expiry first, as many as fit in a menu.
 * @param subject the person who left, or {@link EVERY_OWNERLESS_NAME}
 */
export async function findOwnerlessNames(
  { portfolio, now }: SlackContext,
  subject: string,
): Promise<OwnerlessNames> {
  const query = {
    filter: NO_FILTER,
    owners: subject === EVERY_OWNERLESS_NAME ? [] : [subject],
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
const ownersFormDefinition = { name: 'owners', title: 'Assign an owner', submit: 'Save', fields } as const;

function renderOwnersForm({ names, total }: OwnerlessNames): FormOverrides {
  const options = names
    .filter((name) => name.length <= LIMITS.optionValue)
    .map((name) => ({ value: name, text: formatDomainName(name) }));
  const intro = total > options.length ? [section(incompleteFormText(options.length, total))] : [];
  return {
    form: {
      ...ownersFormDefinition,
      fields: [...(namesField ? [{ ...namesField, options }] : []), ...fields],
    },
    intro,
  };
}

const ownersForm: FormFeature<'owners'> = {
  form: ownersFormDefinition,

  render: async ({ context }, { subject = EVERY_OWNERLESS_NAME }) =>
    renderOwnersForm(await findOwnerlessNames(context, subject)),

  async submit(call) {
    const parsed = parseForm(ownersSchema, call.values);
    if ('errors' in parsed) return parsed;
    const { names, owner } = parsed.value;
    const issue = await findOwnerIssue(call.context, owner);
    if (issue !== undefined) return { errors: { owner: ownersIssueText(issue) } };
    const domains = await call.context.expiry.findMany(names);
    const ownedNames = domains
      .filter(({ owner, ownerLeftAt }) => owner !== undefined && ownerLeftAt === undefined)
      .map(({ name }) => name);
    if (ownedNames.length > 0) return { errors: { names: alreadyOwnedText(ownedNames) } };
    const edits = new Map(names.map((name) => [name, { owner }]));
    const outcome = await call.context.protectedChanges.changeDetails(edits, call.person.id, call.origin);
    return { reply: textMessage(await completeEdit(call, outcome, names.length === 1)) };
  },
};

async function openOwnersForm(call: ActionCall): Promise<void> {
  const ownerlessNames = await findOwnerlessNames(call.context, call.value);
  if (ownerlessNames.names.length === 0) return call.respond(ALL_NAMES_OWNED_TEXT);
  const form = { ...ownersForm, render: () => renderOwnersForm(ownerlessNames) };
  await openForm(call, form, toFormOrigin(call, call.value));
}

export const assignOwners = {
  forms: [ownersForm],
  actions: [{ id: 'owners_assign', run: openOwnersForm }],
} as const satisfies Feature;
