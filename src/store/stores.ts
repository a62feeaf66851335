import type { AccountStore, UsedTokenSteps } from '../accounts/account.ts';
import type { BotSigner } from '../approvals/charter.ts';
import type { ProposalStore } from '../approvals/proposals/ports.ts';
import type { KeyStore, LinkStore } from '../approvals/signing/ports.ts';
import type { SettingsStore } from '../config/settings.ts';
import type { FeedStore, ReminderStore, WatchListStore } from '../expiry/ports.ts';
import type { EventLog } from '../ledger/events.ts';
import type { LedgerStore } from '../ledger/ports.ts';
import type { MandateStore } from '../mandates/ports.ts';
import type { BudgetStore, MoneyReportStore, PriceStore, SpendStore } from '../money/ports.ts';
import type {
  ImpactStore,
  IncidentStore,
  LeaseStore,
  NameRecordStore,
  PortfolioStore,
  PresetStore,
} from '../names/ports.ts';
import type { OrderStore } from '../orders/ports.ts';
import type { Heartbeat } from '../orders/restore-guard.ts';
import type { NotificationStore } from '../outbox/notifications.ts';
import type { WebhookStore } from '../outbox/webhooks/ports.ts';
import type { PolicyStore, StandInStore } from '../policy/ports.ts';
import { createAccountStore } from './accounts.ts';
import { createBudgetStore } from './budgets.ts';
import type { Database } from './database.ts';
import { createWatchListStore } from './domains.ts';
import { createEventLog } from './events.ts';
import { createFeedStore } from './feeds.ts';
import { createHeartbeat } from './heartbeat.ts';
import { createIncidentStore } from './incidents.ts';
import { createInstallationStore, type InstallationStore } from './installation.ts';
import { createLeaseStore } from './leases.ts';
import { createLedgerStore } from './ledger.ts';
import { createMandateStore } from './mandates.ts';
import { createMoneyReportStore } from './money-reports.ts';
import { createImpactStore, createNameRecordStore } from './name-records.ts';
import { createNotificationStore } from './notifications.ts';
import { createOrderStore } from './orders.ts';
import { createPolicyStore } from './policies.ts';
import { createPortfolioStore } from './portfolio.ts';
import { createPresetStore } from './presets.ts';
import { createPriceStore } from './prices.ts';
import { createProposalStore, purgeProposals } from './proposals.ts';
import { createReminderStore } from './reminders.ts';
import { createSettingsStore, type SavedSettingsFormatter } from './settings.ts';
import { createKeyStore, createLinkStore, type SigningRowsStore } from './signing.ts';
import { createSpendStore } from './spend.ts';
import { createStandInStore } from './stand-ins.ts';
import { createTokenStepStore } from './token-steps.ts';
import { createWebhookStore } from './webhooks.ts';

/** The stores that are used before the team is known. */
export interface InstallationStores {
  readonly installation: InstallationStore;
  readonly accounts: AccountStore;
  readonly usedTokenSteps: UsedTokenSteps;
  readonly savedSettings: SettingsStore;
  readonly watchList: WatchListStore;
  readonly feeds: FeedStore;
  readonly heartbeat: Heartbeat;
}

export interface Stores extends InstallationStores {
  readonly orders: OrderStore;
  readonly spending: SpendStore;
  readonly policies: PolicyStore;
  readonly proposals: ProposalStore;
  /** Deletes proposals that ended or expired at least a week ago. */
  readonly purgeProposals: (now: Date) => Promise<number>;
  readonly portfolio: PortfolioStore;
  readonly presets: PresetStore;
  readonly prices: PriceStore;
  readonly standIns: StandInStore;
  readonly budgets: BudgetStore;
  readonly mandates: MandateStore;
  readonly moneyReports: MoneyReportStore;
  readonly notifications: NotificationStore;
  readonly reminders: ReminderStore;
  readonly names: NameRecordStore;
  readonly impacts: ImpactStore;
  readonly incidents: IncidentStore;
  readonly events: EventLog;
  readonly webhooks: WebhookStore;
  readonly links: LinkStore;
  readonly keys: KeyStore & SigningRowsStore;
  readonly leases: LeaseStore;
  readonly ledger: LedgerStore;
}

export function createInstallationStores(database: Database): InstallationStores {
  return {
    installation: createInstallationStore(database),
    accounts: createAccountStore(database),
    usedTokenSteps: createTokenStepStore(database),
    savedSettings: createSettingsStore(database),
    watchList: createWatchListStore(database),
    feeds: createFeedStore(database),
    heartbeat: createHeartbeat(database),
  };
}

export interface TeamStoreOptions {
  readonly teamId: string;
  readonly formatSavedSettings: SavedSettingsFormatter;
  /** Whether passkeys are set up, so that a policy may require signatures. */
  readonly canSign: boolean;
  /** Signs the events that authorize a retry; undefined while the ledger's key can't be decrypted. */
  readonly botSigner: BotSigner | undefined;
}

export function createStores(
  database: Database,
  installationStores: InstallationStores,
  { teamId, formatSavedSettings, canSign, botSigner }: TeamStoreOptions,
): Stores {
  return {
    ...installationStores,
    orders: createOrderStore(database, botSigner),
    spending: createSpendStore(database),
    policies: createPolicyStore(database, teamId, canSign),
    proposals: createProposalStore(database, { teamId, formatSavedSettings, canSign }),
    purgeProposals: (now) => purgeProposals(database, now),
    portfolio: createPortfolioStore(database, teamId),
    presets: createPresetStore(database, teamId),
    prices: createPriceStore(database, teamId),
    standIns: createStandInStore(database, teamId),
    budgets: createBudgetStore(database, teamId),
    mandates: createMandateStore(database, teamId, botSigner),
    moneyReports: createMoneyReportStore(database),
    notifications: createNotificationStore(database, teamId),
    reminders: createReminderStore(database, teamId),
    names: createNameRecordStore(database, teamId),
    impacts: createImpactStore(database, teamId),
    incidents: createIncidentStore(database, teamId),
    events: createEventLog(database, teamId),
    webhooks: createWebhookStore(database, teamId),
    links: createLinkStore(database),
    keys: createKeyStore(database, teamId),
    leases: createLeaseStore(database),
    ledger: createLedgerStore(database, teamId),
  };
}
