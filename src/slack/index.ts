import { link } from './accounts/link.ts';
import { bulk } from './bulk/bulk.ts';
import { calendar } from './expiry/calendar.ts';
import { expiring } from './expiry/expiring.ts';
import { importing } from './expiry/import.ts';
import { reminders } from './expiry/reminders.ts';
import { watch } from './expiry/watch.ts';
import { type Action, type Feature, type FormFeature, type NamedCommand, withName } from './feature.ts';
import { createHelp } from './help/help.ts';
import { audit } from './log/audit.ts';
import { budgets } from './money/budgets.ts';
import { prices } from './money/prices.ts';
import { spend } from './money/spend.ts';
import { alarms } from './names/alarms.ts';
import { factChanges } from './names/fact-changes.ts';
import { name } from './names/name.ts';
import { nameEdit } from './names/name-edit.ts';
import { names } from './names/names.ts';
import { namesImport } from './names/names-import.ts';
import { rules } from './names/rules.ts';
import { domains } from './orders/domains.ts';
import { orderButtons } from './orders/order-buttons.ts';
import { orders } from './orders/orders.ts';
import { prereg } from './orders/prereg.ts';
import { presets } from './orders/presets.ts';
import { redirects } from './orders/redirects.ts';
import { createTaskMenu } from './orders/shortcut.ts';
import { sslContacts } from './orders/ssl-contacts.ts';
import { users } from './orders/users.ts';
import { away } from './policy/away.ts';
import { policy } from './policy/policy.ts';
import { settings } from './policy/settings.ts';

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
