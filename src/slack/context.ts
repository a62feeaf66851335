import type { Accounts } from '../accounts/accounts.ts';
import type { Proposals } from '../approvals/proposals/proposals.ts';
import type { LinkPurpose } from '../approvals/signing/ports.ts';
import type { TeamSettings } from '../config/environment.ts';
import type { SettingsStore } from '../config/settings.ts';
import type { Expiry } from '../expiry/expiry.ts';
import type { ReminderStore, WatchListStore } from '../expiry/ports.ts';
import type { EventLog } from '../ledger/events.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { LedgerStore } from '../ledger/ports.ts';
import type { Log } from '../lib/log.ts';
import type { BudgetStore, MoneyReportStore, PriceStore, SpendStore } from '../money/ports.ts';
import type { Names } from '../names/names.ts';
import type { IncidentStore, NameRecordStore, PortfolioStore, PresetStore } from '../names/ports.ts';
import type { ProtectedChanges } from '../names/protected-changes.ts';
import type { Finding } from '../ops/doctor/finding.ts';
import type { OrdersContext } from '../orders/context.ts';
import type { Order } from '../orders/order.ts';
import type { Statement } from '../orders/statement-shape.ts';
import type { NotificationStore } from '../outbox/notifications.ts';
import type { Webhooks } from '../outbox/webhooks/webhooks.ts';
import type { PolicyStore, StandInStore } from '../policy/ports.ts';
import type { Limiter } from './kit/limiter.ts';
import type { HomeWorkspace, SlackDirectory } from './outbound/directory.ts';
import type { ReadFile } from './outbound/download.ts';
import type { Latest } from './outbound/latest.ts';
import type { SlackWeb } from './outbound/web.ts';

/** The context of features. Built once in `app/compose.ts` and passed whole. */
export interface SlackContext extends HomeWorkspace {
  readonly accounts: Accounts;
  /** The context of orders. Features read orders from its `store`. */
  readonly orders: OrdersContext;
  /** The statement of an order; undefined if its rows no longer give one. */
  readonly statementOf: (order: Order) => Statement | undefined;
  /** Sends the notifications that are due, at once. */
  readonly notifyDue: () => void;
  readonly notifications: NotificationStore;
  /** How long this process may post the messages of a subject without a sign of life, in ms. */
  readonly notificationLeaseMs: number;
  /** Between two messages of a digest in one place, in ms; the digest's default when left out. */
  readonly pauseMs?: number;
  /** The watch list, its dates and its reminders. */
  readonly expiry: Expiry;
  readonly watchList: WatchListStore;
  readonly reminders: ReminderStore;
  readonly incidents: IncidentStore;
  readonly nameRecords: NameRecordStore;
  /** Observations of names by registry and DNS. */
  readonly names: Names;
  /** Tags, owners, channels and notes of names. */
  readonly portfolio: PortfolioStore;
  /** Named sets of contacts and nameservers. */
  readonly presets: PresetStore;
  /** Changes of them. Those that weaken protection wait for confirmation. */
  readonly facts: ProtectedChanges;
  readonly events: EventLog;
  /** Seals and receipts of the log. */
  readonly ledger: Ledger;
  readonly seals: LedgerStore;
  /** The team's price list. */
  readonly prices: PriceStore;
  /** Stand-ins of approvers who are away. */
  readonly standIns: StandInStore;
  /** The versions of the policy, and the draft. */
  readonly policies: PolicyStore;
  /** Changes that another person confirms. */
  readonly proposals: Proposals;
  /** The team's budgets. */
  readonly budgets: BudgetStore;
  /** Spending, and the renewals ahead. */
  readonly spending: SpendStore;
  readonly moneyReports: MoneyReportStore;
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
  readonly webhooks: Webhooks;
  /**
   * The settings as they are saved: who is told, where and when. What decides about orders is `orders.settings`, which a
   * charter may hold back.
   */
  readonly savedSettings: () => Promise<TeamSettings>;
  readonly settingsStore: SettingsStore;
  /** Tries every setting, as `doctor` does. Yields its findings. */
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
  /** Aborts at shutdown what the next start resumes. */
  readonly stopLooking: AbortSignal;
  readonly now: () => Date;
  readonly log: Log;
}

/** A card on which somebody did something. */
export interface ShownCard {
  readonly channelId: string;
  readonly ts: string;
  readonly shownTo: string;
}

/** User ids of the people who are told what admins have to know. Empty if Slack doesn't name any. */
export type AdminsToNotify = () => Promise<readonly string[]>;
