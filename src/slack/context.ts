import type { Accounts } from '../accounts/accounts.ts';
import type { Proposals } from '../approvals/proposals/proposals.ts';
import type { LinkPurpose } from '../approvals/signing/ports.ts';
import type { TeamSettings } from '../config/environment.ts';
import type { SettingsStore } from '../config/settings.ts';
import type { ExpiryTracker } from '../expiry/expiry.ts';
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
import type { Capability } from './capability.ts';
import type { RateLimiter } from './kit/limiter.ts';
import type { HomeWorkspace, SlackDirectory } from './outbound/directory.ts';
import type { ReadFile } from './outbound/download.ts';
import type { UpdateQueue } from './outbound/latest.ts';
import type { SlackWeb } from './outbound/web.ts';

/** Dependencies of all features. Built once, in `app/compose.ts`. */
export interface SlackContext extends HomeWorkspace, Capability {
  readonly accounts: Accounts;
  /** Features read orders from its `store`. */
  readonly orders: OrdersContext;
  /** Returns undefined if the order's rows are invalid. */
  readonly buildStatement: (order: Order) => Statement | undefined;
  readonly notifyDue: () => void;
  readonly notifications: NotificationStore;
  readonly notificationLeaseMs: number;
  /** Pause between two digest messages in the same channel. */
  readonly pauseMs?: number;
  readonly expiry: ExpiryTracker;
  readonly watchList: WatchListStore;
  readonly reminders: ReminderStore;
  readonly certificateDays: readonly number[];
  readonly incidents: IncidentStore;
  readonly nameRecords: NameRecordStore;
  readonly names: Names;
  readonly portfolio: PortfolioStore;
  readonly presets: PresetStore;
  /** Changes names. Changes that weaken protection need confirmation. */
  readonly protectedChanges: ProtectedChanges;
  readonly events: EventLog;
  readonly ledger: Ledger;
  readonly seals: LedgerStore;
  readonly prices: PriceStore;
  readonly standIns: StandInStore;
  readonly policies: PolicyStore;
  readonly proposals: Proposals;
  readonly budgets: BudgetStore;
  readonly spending: SpendStore;
  readonly moneyReports: MoneyReportStore;
  readonly currency: string;
  /** Updates the cards of pending orders with current prices and approvers. Never rejects. */
  readonly refreshPendingCards: () => Promise<void>;
  readonly adoptCard: (orderId: string, card: CardLocation) => Promise<void>;
  readonly directory: SlackDirectory;
  /**
   * Deletes the private data of a person who has left, revokes their passkeys, ends their sessions, and stops
   * their orders and all orders that use their accounts.
   */
  readonly offboard: (userId: string) => Promise<void>;
  readonly signingLinks: {
    createLink(purpose: LinkPurpose, userId: string, subject: string): Promise<string | undefined>;
  };
  readonly web: SlackWeb;
  readonly homeTabUpdates: UpdateQueue;
  readonly formUpdates: UpdateQueue;
  readonly readFile: ReadFile;
  /** Whether an address is a `response_url` that the bot may call. */
  readonly isSlackResponseUrl: (address: string) => boolean;
  readonly webhooks: Webhooks;
  /** The saved settings, for notifications. Decisions use `orders.settings` instead, which a charter may restrict. */
  readonly loadSettings: () => Promise<TeamSettings>;
  readonly settingsStore: SettingsStore;
  readonly runDoctor: () => AsyncIterable<Finding>;
  /** `ADMINS`: people who may change settings, in addition to workspace admins and owners. */
  readonly admins: readonly string[];
  readonly adminsToNotify: AdminsToNotify;
  /** Limits rejected credentials per person, so that nobody can guess passwords through the bot. */
  readonly linkAttempts: RateLimiter;
  /** The context that is preselected in the form for linking an account. */
  readonly defaultContext: number;
  /** Aborts sending the digest at shutdown. The next start resumes it. */
  readonly digestAbortSignal: AbortSignal;
  readonly now: () => Date;
  readonly log: Log;
}

export interface CardLocation {
  readonly channelId: string;
  readonly ts: string;
  /** The person who clicked a button on the card. */
  readonly readerId: string;
}

/** Returns the user IDs of the admins to notify, or an empty list if Slack returns none. */
export type AdminsToNotify = () => Promise<readonly string[]>;
