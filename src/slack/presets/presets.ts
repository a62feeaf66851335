import { z } from 'zod';
import { isApproverInSettings } from '../../approvals/approvers.ts';
import {
  PRESET_FIELDS,
  PRESET_KINDS,
  type Preset,
  type PresetKind,
  parsePreset,
} from '../../names/presets.ts';
import {
  type ActionCall,
  type CommandCall,
  type Feature,
  type FormFeature,
  type Interaction,
  isAdmin,
  type SubmissionCall,
  type SubmissionResult,
  toFormOrigin,
} from '../feature.ts';
import { type Message, textMessage } from '../kit/blocks.ts';
import { createListForm } from '../kit/edited-list.ts';
import {
  buildFieldErrors,
  choiceField,
  type FormValues,
  field,
  formView,
  textField,
  textOrEmptySchema,
  unvalidatedLinesSchema,
  unvalidatedTextSchema,
} from '../kit/form.ts';
import { createPageActions, slicePage } from '../kit/pages.ts';
import { createOpenFormAction, openForm, renderForm } from '../open-form.ts';
import { FORMS_WITH_PRESETS, NAMESERVERS_DISPLAY } from '../orders/domains.ts';
import { createRefreshAction, updateInClickOrder } from '../refresh-form.ts';
import {
  CANNOT_EDIT_PRESETS,
  PRESET_NAME_TAKEN,
  PRESET_NOT_FOUND,
  PRESETS_PER_PAGE,
  presetIssueText,
  presetList,
  presetSavedText,
} from './preset.view.ts';

/* Named sets of contacts and nameservers. Everyone can use them in forms. Only approvers and admins can change them. */

const contactField = (label: string) => textField(label, { kind: 'number' });
const CONTENT_FIELDS: Readonly<Record<PresetKind, z.ZodRawShape>> = {
  contacts: {
    ownerc: contactField('Owner contact'),
    adminc: contactField('Admin contact'),
    techc: contactField('Tech contact'),
  },
  nameservers: { nameServers: field({ ...NAMESERVERS_DISPLAY, isRequired: true }, unvalidatedLinesSchema) },
};

const createPresetSchema = (kind: PresetKind) =>
  z.object({
    preset_name: textField('Name', { placeholder: 'Our DNS', isRequired: true }, textOrEmptySchema),
    kind: choiceField(
      'Contents',
      { contacts: 'Contacts', nameservers: 'Nameservers' },
      unvalidatedTextSchema,
      {
        refreshesForm: true,
        isRequired: true,
      },
    ),
    ...CONTENT_FIELDS[kind],
  });

async function canEditPresets({ context, person }: Interaction): Promise<boolean> {
  if (isAdmin(context, person)) return true;
  return isApproverInSettings(context.orders, person.id);
}

const parseKind = (values: FormValues): PresetKind | undefined =>
  PRESET_KINDS.find((kind) => kind === values['kind']);

const presetForm: FormFeature<'preset'> = {
  checkAccess: async (interaction) =>
    (await canEditPresets(interaction)) ? undefined : textMessage(CANNOT_EDIT_PRESETS),
  ...createListForm({
    form: { name: 'preset', title: 'Preset', submit: 'Save' },
    createSchema: (existing, values) => createPresetSchema(parseKind(values) ?? existing?.kind ?? 'contacts'),
    find: findPreset,
    buildValues: (existing) =>
      existing === undefined
        ? { kind: 'contacts' }
        : { preset_name: existing.name, kind: existing.kind, ...existing.fields },
    notFoundErrors: { preset_name: PRESET_NOT_FOUND },
    save: savePreset,
  }),
};

async function findPreset({ context }: Interaction, id: string): Promise<Preset | undefined> {
  return (await context.presets.list()).find((preset) => preset.id === id);
}

async function savePreset(
  call: SubmissionCall,
  input: z.output<ReturnType<typeof createPresetSchema>>,
  existing: Preset | undefined,
): Promise<SubmissionResult> {
  const { values, context, person } = call;
  // The person may have lost permission since the form was opened.
  if (!(await canEditPresets(call))) return { errors: { preset_name: CANNOT_EDIT_PRESETS } };
  const kind = parseKind(values) ?? 'contacts';
  const fieldValues: Readonly<Record<string, unknown>> = input;
  const fields = Object.fromEntries(
    PRESET_FIELDS[kind].map((name) => [name, [fieldValues[name] ?? []].flat().join('\n')]),
  );
  const parsed = parsePreset({ name: input.preset_name, kind, fields });
  if (!parsed.ok) return { errors: buildFieldErrors(parsed.issues, presetIssueText) };
  const outcome =
    existing === undefined
      ? await context.presets.add(parsed.preset, person.id, context.now())
      : await context.presets.replace(existing.id, parsed.preset, person.id, context.now());
  switch (outcome) {
    case 'saved':
      context.log.info({ by: person.id, preset: parsed.preset.name }, 'preset saved');
      return { reply: textMessage(presetSavedText(parsed.preset.name)) };
    case 'taken':
      return { errors: { preset_name: PRESET_NAME_TAKEN } };
    case 'gone':
      return { errors: { preset_name: PRESET_NOT_FOUND } };
  }
}

async function buildPresetsPage(interaction: Interaction, offset: number): Promise<Message> {
  const [presets, canEdit] = await Promise.all([
    interaction.context.presets.list(),
    canEditPresets(interaction),
  ]);
  return presetList(slicePage(presets, offset, PRESETS_PER_PAGE), canEdit);
}

async function openEditForm(call: ActionCall): Promise<void> {
  if ((await findPreset(call, call.value)) === undefined) return call.respond(PRESET_NOT_FOUND);
  await openForm(call, presetForm, toFormOrigin(call, call.value));
}

async function deletePreset(call: ActionCall): Promise<void> {
  if (!(await canEditPresets(call))) return call.respond(CANNOT_EDIT_PRESETS);
  const { presets, now, log } = call.context;
  const removedPreset = await presets.remove(call.value, call.person.id, now());
  if (removedPreset === undefined) return call.respond(PRESET_NOT_FOUND);
  log.info({ by: call.person.id, preset: removedPreset.name }, 'preset deleted');
  await call.respond(await buildPresetsPage(call, 0), { replace: true });
}

/**
 * Fills the open form from a preset. Slack keeps the values of inputs whose ids haven't changed, so the view is first
 * updated without those inputs.
 */
async function fillFromPreset(call: ActionCall): Promise<void> {
  const { view } = call;
  const feature = FORMS_WITH_PRESETS.find(({ form }) => form.name === view?.formName);
  const preset = await findPreset(call, call.value);
  if (view === undefined || feature === undefined || preset === undefined) return;
  const values = { ...view.values, ...preset.fields, preset: preset.id };
  await updateInClickOrder(call, view.id, async () => {
    const filledView = formView(await renderForm(feature, call, view.origin, values));
    const otherBlocks = filledView.blocks.filter(({ block_id: id = '' }) => !(id in preset.fields));
    return [{ ...filledView, blocks: otherBlocks }, filledView];
  });
}

export const presets = {
  commands: [
    {
      usage: 'presets',
      summary: 'Manage sets of contacts and nameservers for forms',
      example: '/domain presets',
      run: async (call: CommandCall) => call.respond(await buildPresetsPage(call, 0)),
    },
  ],
  forms: [presetForm],
  actions: [
    createOpenFormAction('preset_add', presetForm),
    { id: 'preset_edit', run: openEditForm },
    { id: 'preset_delete', run: deletePreset },
    { id: 'preset', run: fillFromPreset },
    createRefreshAction('kind', presetForm),
    ...createPageActions('presets', async (call: ActionCall, { offset }) =>
      call.respond(await buildPresetsPage(call, offset), { replace: true }),
    ),
  ],
} as const satisfies Feature;
