import { link } from './accounts/link.ts';
import { away } from './approvals/away.ts';
import { signing } from './approvals/signing/signing.ts';
import { bulk } from './bulk/bulk.ts';
import type { Needs } from './capability.ts';
import { calendar } from './expiry/calendar.ts';
import { expiring } from './expiry/expiring.ts';
import { watchListImport } from './expiry/import.ts';
import { ownerQuestion } from './expiry/owner-question.ts';
import { reminders } from './expiry/reminders.ts';
import { watch } from './expiry/watch.ts';
import type { Action, Command, Feature, FormFeature, Registered, RegisteredCommand } from './feature.ts';
import { createHelp } from './help/help.ts';
import { audit } from './ledger/audit.ts';
import { ledger } from './ledger/ledger.ts';
import { mandates } from './mandates/mandates.ts';
import { budgets } from './money/budgets.ts';
import { prices } from './money/prices.ts';
import { spend } from './money/spend.ts';
import { assignOwners } from './names/assign-owners.ts';
import { incidents } from './names/incidents.ts';
import { name } from './names/name.ts';
import { nameChanges } from './names/name-changes.ts';
import { nameEdit } from './names/name-edit.ts';
import { names } from './names/names.ts';
import { namesImport } from './names/names-import.ts';
import { posture } from './names/posture.ts';
import { rules } from './names/rules.ts';
import { domains } from './orders/domains.ts';
import { orderButtons } from './orders/order-buttons.ts';
import { orders } from './orders/orders.ts';
import { redirects } from './orders/redirects.ts';
import { createTaskMenu } from './orders/shortcut.ts';
import { sslContacts } from './orders/ssl-contacts.ts';
import { users } from './orders/users.ts';
import { policy } from './policy/policy.ts';
import { prereg } from './prereg/prereg.ts';
import { presets } from './presets/presets.ts';
import { settings } from './settings/settings.ts';

/*
 * All features by topic, with their preconditions. Every new command, form or button needs an entry here.
 * Features check permissions that depend on an order, name or preset.
 */

type NameOf<Item> = Item extends Command
  ? CommandName<Item['usage']>
  : Item extends FormFeature<infer Name> | Action<infer Name>
    ? Name
    : never;
type CommandName<Usage extends string> = Usage extends `${infer Name} ${string}` ? Name : Usage;

/** Preconditions by name. If names are computed, as for domain tasks, all share one precondition. */
type NeedsByName<Name extends string> = string extends Name ? Needs : { readonly [Key in Name]: Needs };

type FeatureNeeds<DeclaredFeature extends Feature> = {
  readonly [Part in keyof DeclaredFeature]: DeclaredFeature[Part] extends readonly (infer Item)[]
    ? NeedsByName<NameOf<Item>>
    : never;
};

interface RegisteredFeature {
  readonly commands: readonly RegisteredCommand[];
  readonly forms: readonly Registered<FormFeature>[];
  readonly actions: readonly Registered<Action>[];
}

type UntypedFeatureNeeds = { readonly [Part in keyof Feature]?: Needs | Readonly<Record<string, Needs>> };

function addNeeds<const DeclaredFeature extends Feature>(
  feature: DeclaredFeature,
  featureNeeds: FeatureNeeds<DeclaredFeature>,
): RegisteredFeature;
function addNeeds(
  { commands = [], forms = [], actions = [] }: Feature,
  featureNeeds: UntypedFeatureNeeds,
): RegisteredFeature {
  const getNeeds = (part: keyof Feature, name: string): Needs => {
    const partNeeds = featureNeeds[part];
    const needs = typeof partNeeds === 'object' ? partNeeds[name] : partNeeds;
    if (needs === undefined) throw new Error(`no precondition is declared for ${name}`);
    return needs;
  };
  return {
    commands: commands.map((command) => {
      const [name = ''] = command.usage.split(' ');
      return { ...command, name, needs: getNeeds('commands', name) };
    }),
    forms: forms.map((feature) => ({ ...feature, needs: getNeeds('forms', feature.form.name) })),
    actions: actions.map((action) => ({ ...action, needs: getNeeds('actions', action.id) })),
  };
}

/** Forms that the message shortcut and the global shortcut offer. */
const TASK_FORMS: readonly FormFeature[] = [domains, redirects, sslContacts, users, prereg].flatMap(
  ({ forms }): readonly FormFeature[] => forms,
);

export const TASK_MENU: Registered<FormFeature> = { ...createTaskMenu(TASK_FORMS), needs: 'account' };

const FEATURES: readonly RegisteredFeature[] = [
  addNeeds(
    createHelp(() => [...COMMANDS.values()]),
    { commands: { help: 'nothing' }, actions: { help_all: 'nothing' } },
  ),
  addNeeds(link, {
    commands: { link: 'service', unlink: 'service', whoami: 'service', use: 'service' },
    forms: { link: 'service' },
    actions: { method: 'service', home_link: 'service', whoami_details: 'service' },
  }),
  addNeeds(domains, { commands: 'account', forms: 'account' }),
  addNeeds(redirects, {
    commands: { redirect: 'account' },
    forms: { redirect: 'account' },
    actions: { type: 'account', mode: 'account' },
  }),
  addNeeds(sslContacts, { commands: { 'ssl-contact': 'account' }, forms: { 'ssl-contact': 'account' } }),
  addNeeds(prereg, {
    commands: { prereg: 'linked' },
    forms: { prereg: 'linked' },
    actions: {
      prereg_next: 'linked',
      prereg_previous: 'linked',
      prereg_open: 'linked',
      operator: 'linked',
      order: 'linked',
    },
  }),
  addNeeds(users, {
    commands: { user: 'account' },
    forms: { user: 'account' },
    actions: { interface: 'account' },
  }),
  addNeeds(name, { commands: { name: 'member' } }),
  addNeeds(incidents, {
    forms: { alert_ours: 'member' },
    actions: {
      alert_ours: 'member',
      alert_raise: 'member',
      incidents_all: 'member',
      incidents_next: 'member',
      incidents_previous: 'member',
    },
  }),
  addNeeds(assignOwners, { forms: { owners: 'member' }, actions: { owners_assign: 'member' } }),
  addNeeds(nameEdit, { forms: { name_edit: 'member' }, actions: { name_edit: 'member' } }),
  addNeeds(nameChanges, {
    actions: { facts_confirm: 'member', facts_dismiss: 'member', facts_look: 'member' },
  }),
  addNeeds(names, {
    commands: { names: 'member' },
    actions: {
      names_next: 'member',
      names_previous: 'member',
      names_renew: 'account',
      names_edit: 'member',
      names_export: 'member',
    },
  }),
  addNeeds(posture, {
    commands: { posture: 'member' },
    actions: { posture_next: 'member', posture_previous: 'member' },
  }),
  addNeeds(namesImport, {
    forms: { names_import: 'member' },
    actions: { names_import: 'member', names_import_apply: 'member' },
  }),
  addNeeds(presets, {
    commands: { presets: 'service' },
    forms: { preset: 'service' },
    actions: {
      preset_add: 'service',
      preset_edit: 'service',
      preset_delete: 'service',
      preset: 'account',
      kind: 'service',
      presets_next: 'service',
      presets_previous: 'service',
    },
  }),
  addNeeds(rules, { commands: { rules: 'member' } }),
  addNeeds(orders, {
    commands: { orders: 'member', order: 'member' },
    actions: { orders_next: 'member', orders_previous: 'member' },
  }),
  addNeeds(orderButtons, {
    forms: {
      confirm: 'service',
      approve: 'service',
      break_glass: 'service',
      ask_back: 'member',
      deny: 'member',
      settle: 'member',
    },
    actions: {
      order_look: 'member',
      order_look_next: 'member',
      order_look_previous: 'member',
      order_approve: 'service',
      order_approve_comment: 'service',
      order_break_glass: 'service',
      order_sign_off: 'member',
      order_ask: 'member',
      order_deny: 'member',
      order_cancel: 'member',
      order_stop: 'member',
      order_confirm: 'service',
      order_retry: 'service',
      order_undo: 'service',
      order_reveal: 'member',
      order_data: 'member',
      order_resolve_done: 'member',
      order_resolve_failed: 'member',
    },
  }),
  addNeeds(signing, {
    commands: { key: 'member' },
    actions: {
      order_sign: 'service',
      key_add: 'member',
      key_vouch: 'member',
      key_revoke: 'member',
      keys_next: 'member',
      keys_previous: 'member',
      charter_sign: 'admin',
    },
  }),
  addNeeds(bulk, {
    commands: { bulk: 'account' },
    forms: { bulk: 'account' },
    actions: { bulk_drop: 'member', order_resume: 'service' },
  }),
  addNeeds(away, { commands: { away: 'member', back: 'member' } }),
  addNeeds(watch, {
    commands: { watch: 'member', unwatch: 'member' },
    actions: { watch_domain: 'member' },
  }),
  addNeeds(watchListImport, { commands: { import: 'member' }, forms: { import: 'member' } }),
  addNeeds(expiring, {
    commands: { expiring: 'member' },
    actions: { expiring_next: 'member', expiring_previous: 'member' },
  }),
  addNeeds(calendar, { commands: { calendar: 'member' } }),
  addNeeds(prices, {
    commands: { prices: 'member' },
    forms: { price: 'admin', prices_import: 'admin' },
    actions: {
      price_add: 'admin',
      price_edit: 'admin',
      prices_import: 'admin',
      prices_export: 'member',
      prices_next: 'member',
      prices_previous: 'member',
    },
  }),
  addNeeds(mandates, {
    commands: { mandates: 'service' },
    forms: { mandate: 'account' },
    actions: {
      mandate_add: 'account',
      mandate_end: 'member',
      mandate_stop_all: 'member',
      mandates_next: 'service',
      mandates_previous: 'service',
    },
  }),
  addNeeds(budgets, { forms: { budget: 'admin' }, actions: { budget_add: 'admin', budget_edit: 'admin' } }),
  addNeeds(spend, {
    commands: { spend: 'member' },
    actions: { spend_export: 'member', budgets_next: 'member', budgets_previous: 'member' },
  }),
  addNeeds(reminders, {
    forms: {
      renew_many: 'account',
      renewed: 'linked_if_service',
      snooze: 'linked_if_service',
      lapse: 'member',
    },
    actions: {
      reminder_renew: 'account',
      reminder_renewed: 'linked_if_service',
      reminder_restore: 'account',
      reminder_renew_many: 'account',
      reminder_all: 'member',
      reminder_snooze: 'linked_if_service',
      reminder_lapse: 'linked_or_owner',
      lapse_confirm: 'member',
    },
  }),
  addNeeds(ownerQuestion, {
    forms: { handover: 'member' },
    actions: { owner_keep: 'member', owner_handover: 'member' },
  }),
  addNeeds(policy, {
    commands: { policy: 'member' },
    forms: { policy_rule: 'admin', policy_import: 'admin', policy_start: 'admin' },
    actions: {
      policy_add: 'admin',
      policy_edit: 'admin',
      policy_up: 'admin',
      policy_remove: 'admin',
      policy_next: 'admin',
      policy_previous: 'admin',
      policy_discard: 'admin',
      policy_publish: 'admin',
      policy_confirm: 'admin',
      policy_download: 'member',
      policy_upload: 'admin',
      policy_start: 'admin',
    },
  }),
  addNeeds(settings, {
    commands: { settings: 'admin' },
    forms: { settings: 'admin' },
    actions: {
      home_settings: 'admin',
      settings_confirm: 'admin',
      settings_dismiss: 'admin',
      reminders_here: 'admin',
      webhook_test: 'admin',
      settings_check: 'admin',
    },
  }),
  addNeeds(audit, { commands: { audit: 'admin' } }),
  addNeeds(ledger, {
    commands: { ledger: 'admin', receipt: 'member' },
    actions: { order_receipt: 'member' },
  }),
];

function indexByName<Item>(
  items: readonly Item[],
  getName: (item: Item) => string,
): ReadonlyMap<string, Item> {
  const map = new Map(items.map((item) => [getName(item), item]));
  if (map.size !== items.length) throw new Error('two commands, forms or actions share a name');
  return map;
}

export const COMMANDS = indexByName(
  FEATURES.flatMap(({ commands }) => commands),
  ({ name }) => name,
);

export const FORMS = indexByName(
  [TASK_MENU, ...FEATURES.flatMap(({ forms }) => forms)],
  ({ form }) => form.name,
);

/** Buttons and menus by `action_id`. */
export const ACTIONS = indexByName(
  FEATURES.flatMap(({ actions }) => actions),
  ({ id }) => id,
);
