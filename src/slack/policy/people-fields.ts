import { setTimeout as sleep } from 'node:timers/promises';
import type { SlackDeps } from '../feature.ts';
import type { Field } from '../kit/form.ts';
import { SlackApiError } from '../outbound/web.ts';

/* Fields of forms whose values are people and user groups. */

/** A menu of user groups beside a picker of people. */
export interface GroupMenu {
  readonly name: string;
  readonly label: string;
  readonly hint?: string;
}

/** By the field that they belong to. Slack has no picker of user groups; both together are the field's value. */
export type GroupMenus = Readonly<Record<string, GroupMenu>>;

/** A field in the place of a picker of people, where Slack refuses it, for example for a person whom it no longer knows. */
export function withTypedIds(field: Field): Field {
  return field.kind === 'people'
    ? { ...field, kind: 'lines', hint: 'Ids of people (U…) and user groups (S…), separated by commas.' }
    : field;
}

/** Opening a view cannot wait long for Slack's groups. */
const GROUPS_MS = 1_000;

/**
 * The fields, with a menu of groups after each picker of people. Slack refuses a menu without options, so it is
 * left out.
 * @param set the groups that are chosen
 */
export async function withGroups(
  deps: SlackDeps,
  fields: readonly Field[],
  menus: GroupMenus,
  set: readonly string[],
): Promise<Field[]> {
  const options = await groupOptions(deps, set);
  return fields.flatMap((field): Field[] => {
    const menu = menus[field.name];
    return menu === undefined || options.length === 0
      ? [field]
      : [field, { ...menu, kind: 'picks', optional: true, options }];
  });
}

/**
 * The workspace's groups by name, those of the setting first. A group that Slack does not name is shown by id.
 */
async function groupOptions({ directory, log }: SlackDeps, set: readonly string[]) {
  const names = await Promise.race([
    directory.groupNames().catch((err: unknown) => {
      if (!(err instanceof SlackApiError)) throw err;
      log.warn({ err }, 'reading the user groups for the settings');
      return undefined;
    }),
    sleep(GROUPS_MS, undefined, { ref: false }),
  ]);
  const others = [...(names?.keys() ?? [])].filter((id) => !set.includes(id));
  const named = (id: string) => names?.get(id) ?? id;
  return [
    ...set.map((id) => ({ value: id, text: named(id) })),
    ...others.map((id) => ({ value: id, text: named(id) })).sort((a, b) => a.text.localeCompare(b.text)),
  ];
}
