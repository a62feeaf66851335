import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { isGroupId } from '../../policy/policy.ts';
import type { SlackContext } from '../context.ts';
import { type Field, type FormValues, splitLines } from '../kit/form.ts';
import { SlackApiError } from '../outbound/web.ts';

/*
 * Form fields for people and user groups. Slack has no picker for groups, so each people picker is followed by a menu
 * of groups. Together, they form a single value.
 */

/** Slack's markup for a person, group or channel, as it appears when pasted. */
const MARKUP = /<(?:@|#|!subteam\^)([A-Z0-9]+)(?:\|[^>]*)?>/g;

export function unwrapMarkup(text: string): string {
  return text.replace(MARKUP, ' $1 ').trim();
}

export function splitItems(text: string): string[] {
  return unwrapMarkup(text)
    .split(/[\s,;]+/)
    .filter((item) => item !== '');
}

/** Accepts items that were selected in a picker or entered as text. */
export const itemsSchema = z
  .array(z.string())
  .default([])
  .transform((lines) => lines.flatMap(splitItems));

/** Splits IDs into the values of a people picker and its group menu. */
export function splitPeopleAndGroups(
  peopleField: string,
  groupsField: string,
  ids: readonly string[],
): FormValues {
  return { [peopleField]: ids.filter((id) => !isGroupId(id)), [groupsField]: ids.filter(isGroupId) };
}

/** Used if Slack rejects the pickers, for example because of an unknown person. */
export function replacePickersWithText(fields: readonly Field[]): Field[] {
  return removeGroupMenus(fields).map((field) =>
    field.kind === 'people'
      ? { ...field, kind: 'lines', hint: 'IDs of people (U…) and user groups (S…), separated by commas.' }
      : field,
  );
}

/** Slack rejects menus without options, so they are left out if there are no groups. */
export function removeGroupMenus(fields: readonly Field[]): Field[] {
  return fields.filter(({ kind }) => kind !== 'groups');
}

/** Leaves enough time to open the view within Slack's 3 seconds. */
const GROUPS_TIMEOUT_MS = 1_000;

/** Adds options to the group menus. Selected groups come first. */
export async function addGroupOptions(
  context: SlackContext,
  fields: readonly Field[],
  values: FormValues,
): Promise<Field[]> {
  const selectedIds = fields
    .filter(({ kind }) => kind === 'groups')
    .flatMap(({ name }) => splitLines(values[name]));
  const options = await loadGroupOptions(context, [...new Set(selectedIds)]);
  return options.length === 0
    ? removeGroupMenus(fields)
    : fields.map((field) => (field.kind === 'groups' ? { ...field, options } : field));
}

/**
 * Lists the selected groups, and then the others by name. If Slack doesn't answer in time, only the selected groups are
 * listed, by ID.
 */
async function loadGroupOptions({ directory, log }: SlackContext, selectedIds: readonly string[]) {
  const groupNames = await Promise.race([
    directory.loadGroupNames().catch((err: unknown) => {
      if (!(err instanceof SlackApiError)) throw err;
      log.warn({ err }, 'loading the user groups for the settings failed');
      return undefined;
    }),
    sleep(GROUPS_TIMEOUT_MS, undefined, { ref: false }),
  ]);
  const otherIds = [...(groupNames?.keys() ?? [])].filter((id) => !selectedIds.includes(id));
  const toOption = (id: string) => ({ value: id, text: groupNames?.get(id) ?? id });
  return [
    ...selectedIds.map(toOption),
    ...otherIds.map(toOption).sort((a, b) => a.text.localeCompare(b.text)),
  ];
}
