import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { isGroup } from '../../policy/policy.ts';
import type { SlackContext } from '../context.ts';
import { type Field, type FormValues, linesIn } from '../kit/form.ts';
import { SlackApiError } from '../outbound/web.ts';

/*
 * Fields of forms whose values are people and user groups. Slack has no picker of user groups, so a menu of them stands
 * behind a picker of people; both together are one value.
 */

/** Slack's markup of a person, group or channel, as it is pasted. */
const MARKUP = /<(?:@|#|!subteam\^)([A-Z0-9]+)(?:\|[^>]*)?>/g;

/** A text in which pasted mentions became ids. */
export function withoutMarkup(text: string): string {
  return text.replace(MARKUP, ' $1 ').trim();
}

/** Items with blanks, commas or semicolons between them. */
export function itemsIn(text: string): string[] {
  return withoutMarkup(text)
    .split(/[\s,;]+/)
    .filter((item) => item !== '');
}

/** Ids and other items that were picked, or typed in one field. */
export const ITEMS = z
  .array(z.string())
  .default([])
  .transform((lines) => lines.flatMap(itemsIn));

/** Ids as the values of a picker of people and of the menu of groups behind it. */
export function peopleValues(people: string, groups: string, ids: readonly string[]): FormValues {
  return { [people]: ids.filter((id) => !isGroup(id)), [groups]: ids.filter(isGroup) };
}

/** The fields without pickers, where Slack refuses them, for example for a person whom it no longer knows. */
export function withTypedIds(fields: readonly Field[]): Field[] {
  return withoutGroups(fields).map((field) =>
    field.kind === 'people'
      ? { ...field, kind: 'lines', hint: 'Ids of people (U…) and user groups (S…), separated by commas.' }
      : field,
  );
}

/** The fields as long as the workspace's groups are not known: Slack refuses a menu without options. */
export function withoutGroups(fields: readonly Field[]): Field[] {
  return fields.filter(({ kind }) => kind !== 'groups');
}

/** Opening a view cannot wait long for Slack's groups. */
const GROUPS_MS = 1_000;

/** The fields with the workspace's groups in their menus, those that are chosen first. */
export async function withGroups(
  context: SlackContext,
  fields: readonly Field[],
  values: FormValues,
): Promise<Field[]> {
  const chosen = fields.filter(({ kind }) => kind === 'groups').flatMap(({ name }) => linesIn(values[name]));
  const options = await groupOptions(context, [...new Set(chosen)]);
  return options.length === 0
    ? withoutGroups(fields)
    : fields.map((field) => (field.kind === 'groups' ? { ...field, options } : field));
}

/** The workspace's groups by name. A group that Slack does not name is shown by id. */
async function groupOptions({ directory, log }: SlackContext, chosen: readonly string[]) {
  const names = await Promise.race([
    directory.groupNames().catch((err: unknown) => {
      if (!(err instanceof SlackApiError)) throw err;
      log.warn({ err }, 'reading the user groups for the settings');
      return undefined;
    }),
    sleep(GROUPS_MS, undefined, { ref: false }),
  ]);
  const others = [...(names?.keys() ?? [])].filter((id) => !chosen.includes(id));
  const named = (id: string) => ({ value: id, text: names?.get(id) ?? id });
  return [...chosen.map(named), ...others.map(named).sort((a, b) => a.text.localeCompare(b.text))];
}
