import type { ModalView } from '@slack/types';
import type { Account } from '../accounts/account.ts';
import type { Accounts } from '../accounts/accounts.ts';
import type { LinkPurpose } from '../approvals/signing/ports.ts';
import type { TeamSettings } from '../config/environment.ts';
import type { SettingChange, SettingsStore } from '../config/settings.ts';
import type { Expiry } from '../expiry/expiry.ts';
import type { EventLog } from '../ledger/events.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { Log } from '../lib/log.ts';
import type { TagsOf } from '../money/budget-look.ts';
import type { PriceOrder } from '../money/order-cost.ts';
import type { BudgetStore, PriceStore, SpendStore } from '../money/ports.ts';
import type { PriceEdit } from '../money/prices.ts';
import type { Names } from '../names/names.ts';
import type { PendingFacts, PortfolioStore, PresetStore } from '../names/ports.ts';
import type { ProtectedChanges } from '../names/protected-changes.ts';
import type { Finding } from '../ops/doctor/finding.ts';
import type { OrdersContext } from '../orders/context.ts';
import type { Order } from '../orders/order.ts';
import type { Statement } from '../orders/statement-shape.ts';
import type { PersonViewer } from '../orders/visibility.ts';
import type { NotificationStore } from '../outbox/notifications.ts';
import type { Webhooks } from '../outbox/webhooks/webhooks.ts';
import type { PendingChanges } from '../policy/pending-changes.ts';
import type { PolicyStore, StandInStore } from '../policy/ports.ts';
import type { AdminsToNotify } from './admins/admins.ts';
import type { Message } from './kit/blocks.ts';
import type { FieldErrors, Form, FormOrigin, FormValues, FormView } from './kit/form.ts';
import type { Limiter } from './kit/limiter.ts';
import type { ShownCard } from './orders/order-messages.ts';
import type { HomeWorkspace, Person, SlackDirectory } from './outbound/directory.ts';
import type { ReadFile } from './outbound/download.ts';
import type { Latest } from './outbound/latest.ts';
import { SlackApiError, type SlackWeb } from './outbound/web.ts';

/** What the features need. Built once in `app/bot.ts`. */
export interface SlackContext extends HomeWorkspace {
  readonly accounts: Accounts;
  /** What the use cases of orders need. Features read orders from its `store`. */
  readonly orders: OrdersContext;
  /** What an order sends; undefined when its rows give no request any more. */
  readonly statementOf: (order: Order) => Statement | undefined;
  /** Has people told at once of what has changed. */
  readonly notifyDue: () => void;
  /** What Slack shows of orders. */
  readonly notifications: Pick<NotificationStore, 'read' | 'record' | 'replacementOf'>;
  /** The watch list, its dates and its reminders. */
  readonly expiry: Expiry;
  /** What registries and the DNS show of names. */
  readonly names: Names;
  /** What people have set for names. */
  readonly portfolio: PortfolioStore;
  /** Named sets of contacts and nameservers. */
  readonly presets: PresetStore;
  /** Changes of them, of which those that decide about orders wait for a second person. */
  readonly facts: ProtectedChanges;
  readonly events: EventLog;
  /** What is proved of the log. */
  readonly ledger: Ledger;
  /** The team's price list. */
  readonly prices: PriceStore;
  /** What an order costs by that list. */
  readonly priceOf: PriceOrder;
  /** Who stands in for whom. */
  readonly standIns: StandInStore;
  /** The versions of the policy, and the draft. */
  readonly policies: PolicyStore;
  /** Changes that wait for a second person. */
  readonly pendingChanges: {
    readonly settings: PendingChanges<readonly SettingChange[]>;
    readonly prices: PendingChanges<readonly PriceEdit[]>;
    readonly facts: PendingFacts;
  };
  /** The team's budgets. */
  readonly budgets: BudgetStore;
  /** What was bought, and the renewals ahead. */
  readonly spending: SpendStore;
  /** The tags of names. */
  readonly tagsOf: TagsOf;
  /** ISO 4217 code of new prices. */
  readonly currency: string;
  /** Shows the cards of waiting orders again, with current prices and approvers. It never rejects. */
  readonly refreshWaitingCards: () => Promise<void>;
  /** Records a card of an order whose place was not known. */
  readonly adoptCard: (orderId: string, card: ShownCard) => Promise<void>;
  readonly directory: SlackDirectory;
  /** Wipes and stops what a person leaves behind who is no longer a member. */
  readonly offboard: (userId: string) => Promise<void>;
  /** Addresses under which people sign. */
  readonly links: {
    open(purpose: LinkPurpose, userId: string, subject: string): Promise<string | undefined>;
  };
  readonly web: SlackWeb;
  /** The publishing of Home tabs, by person. */
  readonly homeTabs: Latest;
  /** The changes of open forms, by view. */
  readonly openForms: Latest;
  /** Reads a file that somebody attached to a form. */
  readonly readFile: ReadFile;
  /** Whether answers may be posted to an address that a delivery names. */
  readonly isSlackAddress: (address: string) => boolean;
  /** Where what matters is told besides Slack. */
  readonly webhooks: Pick<Webhooks, 'endpoints' | 'test'>;
  readonly settings: () => Promise<TeamSettings>;
  readonly settingsStore: SettingsStore;
  /** Tries every setting for real, as `doctor` does: what it finds, one after the other. */
  readonly examine: () => AsyncIterable<Finding>;
  /** `ADMINS`: people who may change settings besides workspace admins and owners. */
  readonly admins: readonly string[];
  readonly adminsToNotify: AdminsToNotify;
  /**
   * Limits how often a person may try credentials that the service refuses, so that nobody guesses passwords through
   * the bot.
   */
  readonly linkTries: Limiter;
  /** The context that the link form offers. */
  readonly defaultContext: number;
  readonly now: () => Date;
  readonly log: Log;
}

/** Something that a person does, and the ways to answer. */
export interface Interaction {
  readonly deps: SlackContext;
  readonly person: Person;
  /** The channel where it happened; undefined in the Home tab. */
  readonly channelId: string | undefined;
  /** Set when it happened in a thread, or on a message in whose thread the answer belongs. */
  readonly threadTs: string | undefined;
  /** Identifies this delivery: the same when Slack delivers it again. */
  readonly deliveryId: string;
  /** When it arrived, in milliseconds of `performance.now`. */
  readonly arrivedAt: number;
  /** The person's active account. It is read once, so that everything in one delivery uses the same account. */
  account(): Promise<Account | undefined>;
  /** What the person's orders go out with: their active account, or the team's where they have none; read once too. */
  orderAccount(): Promise<Account | undefined>;
  /** All that this delivery changes is committed: Slack is told so. What follows is not waited for. */
  acknowledge(): void;
  /**
   * Says something to this person alone; a text is mrkdwn. It acknowledges the delivery, so changes are to be committed
   * before.
   * @param options.replace replaces the message whose button was pressed, where Slack still allows it
   */
  respond(message: Message | string, options?: { readonly replace?: boolean }): Promise<void>;
  /**
   * Says the outcome, but only for a delivery that was acknowledged before the outcome was known. Otherwise it is
   * shown elsewhere.
   */
  respondIfLate(message: Message | string): Promise<void>;
  /**
   * Opens a modal, on top of the one in which something was pressed. Slack allows that within 3 seconds of what the person
   * did. When it is too late, the person is told.
   * @param options.done runs when the modal is open; it may show something else in its place
   * @param options.undo runs when the modal could not be opened, before the person is told
   */
  open(
    view: ModalView,
    options?: { readonly done?: (viewId: string) => Promise<void>; readonly undo?: () => Promise<void> },
  ): Promise<void>;
}

export interface CommandCall extends Interaction {
  readonly channelId: string;
  readonly words: readonly string[];
  readonly reason: string | undefined;
}

export interface ActionCall extends Interaction {
  /** The button's value, or the chosen option. */
  readonly value: string;
  /** `block_id` of the row that it stands in. */
  readonly blockId: string;
  /** When it was pressed, as Slack writes it. */
  readonly pressedAt: string;
  /** The message with the button; undefined in a view. */
  readonly messageTs: string | undefined;
  /** The content of the modal, when the button stands in one. */
  readonly view:
    | {
        readonly id: string;
        /** Name of the form. */
        readonly form: string;
        readonly values: FormValues;
        readonly origin: FormOrigin;
      }
    | undefined;
}

export interface SubmissionCall extends Interaction {
  readonly values: FormValues;
  readonly origin: FormOrigin;
}

/** Another view in the place of a form. Long work runs in `meanwhile`, which may change that view again. */
export interface NextView {
  readonly view: ModalView;
  readonly meanwhile?: (show: (view: ModalView) => Promise<void>) => Promise<void>;
}

/** The result of a submitted form. */
export type Submitted =
  /** Shown at the fields; what was typed stays. */
  | { readonly errors: FieldErrors }
  /** The form closes; `say` goes to this person alone. */
  | { readonly say: Message | undefined }
  | NextView;

/**
 * What must hold before anything of a feature runs: `linked` is an account of one's own, `account` one that orders go out
 * with, which is the team's for people who have none.
 */
export type Needs = 'nothing' | 'member' | 'linked' | 'account' | 'admin';

export interface Command {
  /** After `/domain`. It begins with the subcommand's name. */
  readonly usage: string;
  /** Starts with a verb, ends without a full stop. */
  readonly summary: string;
  readonly example: string;
  run(call: CommandCall): Promise<void>;
}

/** What a form shows otherwise than it is declared. */
type Rendered = Partial<Pick<FormView, 'form' | 'origin' | 'values' | 'intro'>>;

export interface FormFeature<Name extends string = string> {
  readonly form: Form<Name>;
  /**
   * Why the form would be filled in for nothing: the person's active account cannot do what it is for, or the policy
   * refuses it for the values that the form opens with. Undefined when neither is so.
   */
  refusal?(call: Interaction, values?: FormValues): Promise<Message | undefined>;
  /** What is shown otherwise than declared and typed: fields may depend on the values. */
  render?(call: Interaction, origin: FormOrigin, values: FormValues): Promise<Rendered> | Rendered;
  /** The issues of the values that a form opens with, as far as they can be found without a request. */
  issuesOf?(values: FormValues): FieldErrors;
  submit(call: SubmissionCall): Promise<Submitted>;
}

export interface Action<Id extends string = string> {
  /** `action_id`. */
  readonly id: Id;
  run(call: ActionCall): Promise<void>;
}

/** One subject: its subcommands, forms and buttons together. */
export interface Feature {
  readonly commands?: readonly Command[];
  readonly forms?: readonly FormFeature[];
  readonly actions?: readonly Action[];
}

/** A command, form or action with what must hold before it runs. */
export type Permitted<Thing> = Thing & { readonly needs: Needs };

/** A command with its name. */
export type NamedCommand = Permitted<Command> & { readonly name: string };

/** Whether a person may change the settings and read the audit log. */
export function isAdmin(deps: Pick<SlackContext, 'admins'>, person: Person): boolean {
  return person.isConfirmed && person.isMember && (person.isAdmin || deps.admins.includes(person.id));
}

/** Whether a person is an admin at this moment. Nobody is while Slack does not tell. */
export async function isAdminNow(
  deps: Pick<SlackContext, 'admins' | 'directory' | 'log'>,
  userId: string,
): Promise<boolean> {
  try {
    return isAdmin(deps, await deps.directory.person(userId, undefined));
  } catch (error) {
    if (!(error instanceof SlackApiError)) throw error;
    deps.log.warn({ err: error, userId }, 'asking whether somebody is an admin');
    return false;
  }
}

/** The part of an interaction's person that decides what they may see. */
export function viewerOf({ deps, person }: Pick<Interaction, 'deps' | 'person'>): PersonViewer {
  return { id: person.id, isAdmin: isAdmin(deps, person) };
}

/**
 * The place of a form that reports its result where it was opened.
 * @param subject what the form is about
 */
export function formOrigin({ channelId = '', threadTs }: Interaction, subject?: string): FormOrigin {
  return { channelId, threadTs, subject };
}

/** A form as it is shown for these values. */
export async function renderForm(
  feature: FormFeature,
  call: Interaction,
  origin: FormOrigin,
  values: FormValues,
): Promise<FormView> {
  return { form: feature.form, origin, values, ...(await feature.render?.(call, origin, values)) };
}
