import { type Action, type Feature, type FormFeature, type NamedCommand, withName } from '../feature.ts';
import { alarms } from './alarms.ts';
import { audit } from './audit.ts';
import { away } from './away.ts';
import { budgets } from './budgets.ts';
import { bulk } from './bulk.ts';
import { calendar } from './calendar.ts';
import { domains } from './domains.ts';
import { expiring } from './expiring.ts';
import { factChanges } from './fact-changes.ts';
import { createHelp } from './help.ts';
import { importing } from './import.ts';
import { link } from './link.ts';
import { name } from './name.ts';
import { nameEdit } from './name-edit.ts';
import { names } from './names.ts';
import { namesImport } from './names-import.ts';
import { orderButtons } from './order-buttons.ts';
import { orders } from './orders.ts';
import { policy } from './policy.ts';
import { prereg } from './prereg.ts';
import { presets } from './presets.ts';
import { prices } from './prices.ts';
import { redirects } from './redirects.ts';
import { reminders } from './reminders.ts';
import { rules } from './rules.ts';
import { settings } from './settings.ts';
import { createTaskMenu } from './shortcut.ts';
import { spend } from './spend.ts';
import { sslContacts } from './ssl-contacts.ts';
import { users } from './users.ts';
import { watch } from './watch.ts';

/* Everything that people can do, by subject. A new subject gets a line here. */

const SUBJECTS: readonly Feature[] = [
  link,
  domains,
  redirects,
  sslContacts,
  prereg,
  users,
  name,
  alarms,
  nameEdit,
  factChanges,
  names,
  namesImport,
  presets,
  rules,
  orders,
  orderButtons,
  bulk,
  away,
  watch,
  importing,
  expiring,
  calendar,
  prices,
  budgets,
  spend,
  reminders,
  policy,
  settings,
  audit,
];

/** The forms that the message shortcut offers. */
const TASK_FORMS: readonly FormFeature[] = [domains, redirects, sslContacts, users, prereg].flatMap(
  ({ forms }) => forms ?? [],
);

/** The form of the message shortcut, in which a person chooses a task. */
export const TASK_MENU: FormFeature = createTaskMenu(TASK_FORMS);

function byKey<T>(list: readonly T[], key: (item: T) => string): ReadonlyMap<string, T> {
  const map = new Map(list.map((item) => [key(item), item]));
  if (map.size !== list.length) throw new Error('two features share a name');
  return map;
}

const HELP: Feature = createHelp(SUBJECTS.flatMap(({ commands }) => commands ?? []));

/** Subcommands by name. */
export const COMMANDS: ReadonlyMap<string, NamedCommand> = byKey(
  [HELP, ...SUBJECTS].flatMap(({ commands }) => commands ?? []).map(withName),
  ({ name }) => name,
);

/** Forms by `callback_id`. */
export const FORMS: ReadonlyMap<string, FormFeature> = byKey(
  [TASK_MENU, ...SUBJECTS.flatMap(({ forms }) => forms ?? [])],
  ({ form }) => form.name,
);

/** Buttons and menus by `action_id`. */
export const ACTIONS: ReadonlyMap<string, Action> = byKey(
  [HELP, ...SUBJECTS].flatMap(({ actions }) => actions ?? []),
  ({ id }) => id,
);
