import type { Vault } from '../accounts/vault.ts';
import type { RelyingParty } from '../approvals/signing/assertion.ts';
import type { Config, SettingValues } from '../config/environment.ts';
import type { LedgerKey } from '../ledger/key.ts';
import type { Log } from '../lib/log.ts';
import type { SendingContext } from '../orders/context.ts';
import type { OffboardingContext } from '../orders/offboarding.ts';
import type { SlackContext } from '../slack/context.ts';
import type { SlackDirectory } from '../slack/outbound/directory.ts';
import type { OutageWatch } from '../slack/outbound/outage.ts';
import type { Pacer } from '../slack/outbound/pacer.ts';
import type { TokenHealth } from '../slack/outbound/token-health.ts';
import type { SlackWeb } from '../slack/outbound/web.ts';
import type { Stores } from '../store/stores.ts';
import type { Metrics } from './metrics.ts';
import type { Readiness } from './readiness.ts';
import type { Loop, Reconciler } from './reconcile.ts';
import type { Pace, Seams } from './seams.ts';
import type { HttpServer, ListeningServer } from './server.ts';
import type { Shutdown } from './shutdown.ts';

/** Shared by all functions that compose and start the bot. */
export interface AppContext {
  readonly config: Config;
  readonly log: Log;
  readonly signal: AbortSignal;
  readonly seams: Seams;
  readonly pace: Pace;
  /** Unique for each start. */
  readonly processId: string;
  readonly now: () => Date;
  readonly metrics: Metrics;
  readonly readiness: Readiness;
  readonly shutdown: Shutdown;
}

export interface SlackConnection {
  readonly web: SlackWeb;
  readonly pacer: Pacer;
  readonly bot: BotIdentity;
  readonly orgId: string | undefined;
  readonly directory: SlackDirectory;
  readonly tokenHealth: TokenHealth;
  readonly outageWatch: OutageWatch;
}

/** The bot, its workspace, and the workspace's Enterprise Grid organization, if any. */
export interface BotIdentity {
  readonly teamId: string;
  readonly userId: string;
  readonly orgId: string | undefined;
}

/** Values for team settings that haven't been saved. */
export interface TeamDefaults {
  current(): SettingValues;
  /** Reloads the workspace's admins if they are the approvers. */
  refresh(): Promise<void>;
}

export interface Connections {
  readonly server: HttpServer;
  readonly metricsServer: ListeningServer;
  readonly publicUrl: string;
  /** Undefined if passkeys don't work at `publicUrl`. */
  readonly relyingParty: RelyingParty | undefined;
  readonly databaseUrl: string;
  readonly takeBackup: () => Promise<void>;
  readonly vault: Vault;
  readonly slack: SlackConnection;
  readonly stores: Stores;
  readonly teamDefaults: TeamDefaults;
  /** Undefined if the stored key can't be decrypted; then nothing is sealed. */
  readonly ledgerKey: LedgerKey | undefined;
}

export interface Contexts {
  readonly slack: SlackContext;
  readonly sending: SendingContext;
  readonly offboarding: OffboardingContext;
  readonly reconciler: Reconciler;
  readonly observationLoop: Loop;
}
