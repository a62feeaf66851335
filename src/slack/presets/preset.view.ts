import { PRESET_FIELDS, type Preset, type PresetIssue } from '../../names/presets.ts';
import {
  type AnyBlock,
  actions,
  button,
  code,
  context,
  escapeLine,
  type Message,
  message,
  section,
} from '../kit/blocks.ts';
import { buildPageControls, type Page } from '../kit/pages.ts';
import { formatZoneIssue } from '../names/zone-issue.view.ts';

const CONTACT_LABELS: Readonly<Record<string, string>> = { ownerc: 'owner', adminc: 'admin', techc: 'tech' };
export const PRESETS_PER_PAGE = 15;

/** @param canEdit whether the reader can change presets */
export function presetList(page: Page<Preset>, canEdit: boolean): Message {
  const addButton = button('preset_add', 'Add a preset…', 'new', { style: 'primary' });
  const text =
    page.total === 0
      ? 'There are no presets yet. A preset is a named set of contacts or nameservers that you can choose in forms.'
      : 'Presets';
  return message(text, [
    section(page.total === 0 ? text : `*${text}*`),
    ...page.items.flatMap((preset): AnyBlock[] => [
      section(`*${escapeLine(preset.name)}*: ${contentText(preset)}`),
      ...(canEdit ? actions(`preset_${preset.id}`, presetButtons(preset)) : []),
    ]),
    ...buildPageControls('presets', page, PRESETS_PER_PAGE),
    ...(canEdit ? actions('presets', [addButton]) : [context('Approvers and admins can change presets.')]),
  ]);
}

function contentText({ kind, fields }: Preset): string {
  if (kind === 'nameservers') return (fields['nameServers'] ?? '').split('\n').map(code).join(', ');
  return PRESET_FIELDS.contacts
    .flatMap((field) => {
      const id = fields[field];
      return id === undefined ? [] : [`${CONTACT_LABELS[field] ?? field} ${code(id)}`];
    })
    .join(', ');
}

function presetButtons({ id, name }: Preset) {
  return [
    button('preset_edit', 'Edit…', id, { label: `Edit ${name}` }),
    button('preset_delete', 'Delete', id, { style: 'danger', label: `Delete ${name}` }),
  ];
}

export function presetIssueText(issue: PresetIssue): string {
  switch (issue) {
    case 'missing_name':
      return 'Enter a name, such as “Our DNS”.';
    case 'name_too_long':
      return 'Use at most 60 characters.';
    case 'all_fields_empty':
      return 'Enter at least one contact.';
    case 'not_an_id':
      return 'Enter the contact’s ID at the domain service.';
    case 'too_many':
      return 'Enter at most 13 nameservers.';
    default:
      return formatZoneIssue(issue.hostIssue);
  }
}

export const CANNOT_EDIT_PRESETS =
  'Only approvers and admins can change presets, because presets set the contacts and nameservers of names. Ask one of them.';
export const PRESET_NOT_FOUND = 'This preset no longer exists. Check `/domain presets`.';
export const PRESET_NAME_TAKEN = 'Another preset already has this name. Choose another name.';
export const presetSavedText = (name: string) =>
  `I saved the preset “${escapeLine(name)}”. You can now choose it in forms.`;
