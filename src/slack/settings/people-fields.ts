import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { isGroup } from '../../policy/policy.ts';
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

/** Items are separated by spaces, commas or semicolons. */
export function splitItems(text: string): string[] {
  return unwrapMarkup(text)
    .split(/[\s,;]+/)
    .filter((item) => item !== '');
}

/** Items that were selected or entered. */
export const itemsSchema = z
  .array(z.string())
  .default([])
  .transform((lines) => lines.flatMap(splitItems));

/** Splits ids into a value for the people picker and a value for the group menu. */
export function splitPeople(peopleField: string, groupsField: string, ids: readonly string[]): FormValues {
  return { [peopleField]: ids.filter((id) => !isGroup(id)), [groupsField]: ids.filter(isGroup) };
}

/** Replaces pickers with text fields. Used if Slack rejects the pickers, for example because of an unknown person. */
export function replacePickers(fields: readonly Field[]): Field[] {
  return removeGroupMenus(fields).map((field) =>
    field.kind === 'people'
      ? { ...field, kind: 'lines', hint: 'IDs of people (U…) and user groups (S…), separated by commas.' }
      : field,
  );
}

/** Used if there are no groups, because Slack rejects menus without options. */
export function removeGroupMenus(fields: readonly Field[]): Field[] {
  return fields.filter(({ kind }) => kind !== 'groups');
}

/** Leaves enough time to open the view, for which Slack allows 3 seconds. */
const GROUPS_TIMEOUT_MS = 1_000;

/** Adds options to the group menus. Selected groups come first. */
export async function addGroupOptions(
  context: SlackContext,
  fields: readonly Field[],
  values: FormValues,
): Promise<Field[]> {
  const selected = fields
    .filter(({ kind }) => kind === 'groups')
    .flatMap(({ name }) => splitLines(values[name]));
  const options = await loadGroupOptions(context, [...new Set(selected)]);
  return options.length === 0
    ? removeGroupMenus(fields)
    : fields.map((field) => (field.kind === 'groups' ? { ...field, options } : field));
}

/**
 * The selected groups, then the others sorted by name. If Slack doesn't answer in time, only the selected groups, with
 * their ids.
 */
async function loadGroupOptions({ directory, log }: SlackContext, selected: readonly string[]) {
  const names = await Promise.race([
    directory.loadGroupNames().catch((err: unknown) => {
      if (!(err instanceof SlackApiError)) throw err;
      log.warn({ err }, 'loading the user groups for the settings failed');
      return undefined;
    }),
    sleep(GROUPS_TIMEOUT_MS, undefined, { ref: false }),
  ]);
  const others = [...(names?.keys() ?? [])].filter((id) => !selected.includes(id));
  const toOption = (id: string) => ({ value: id, text: names?.get(id) ?? id });
  return [...selected.map(toOption), ...others.map(toOption).sort((a, b) => a.text.localeCompare(b.text))];
}
