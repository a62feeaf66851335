import type { ProposalStore } from '../approvals/proposals/ports.ts';
import type { Log } from '../lib/log.ts';
import type { BudgetStore } from '../money/ports.ts';
import type { OrderStore } from '../orders/ports.ts';
import type { DnsClient } from '../registry/dns/client.ts';
import type { RdapClient } from '../registry/rdap/client.ts';
import type { WhoisClient } from '../registry/whois/client.ts';
import type { Facts, Observation } from './facts.ts';
import type { Incident } from './incident.ts';
import type { LookupPlanner } from './lookup-planner.ts';
import type { Observers } from './observers.ts';
import type {
  ImpactStore,
  IncidentStore,
  LeaseStore,
  NameRecord,
  NameRecordStore,
  PortfolioStore,
} from './ports.ts';
import type { NameOrder } from './unexplained-changes.ts';

export interface NameActivity {
  readonly orders: readonly NameOrder[];
  readonly hasOpenOrder: boolean;
  /** Latest first. */
  readonly incidents: readonly Incident[];
  readonly isGuarded: boolean;
}

/** Everything needed to read and look up names. Built once and passed as a whole. */
export interface NamesContext extends Observers {
  readonly records: NameRecordStore;
  readonly impacts: ImpactStore;
  readonly incidents: IncidentStore;
  readonly portfolio: PortfolioStore;
  readonly proposals: ProposalStore;
  readonly budgets: BudgetStore;
  readonly orders: OrderStore;
  readonly leases: LeaseStore;
  readonly rdap: RdapClient;
  readonly whois?: WhoisClient | undefined;
  /** Holds the registries' lookup budgets, which all lookups share. */
  readonly planner: LookupPlanner;
  /**
   * @param hosts the servers of the delegation, according to the parent zone
   * @throws only the signal's reason
   */
  readonly observeDelegation: (name: string, hosts: readonly string[], signal: AbortSignal) => Promise<Facts>;
  readonly loadActivity: (record: {
    readonly name: string;
    readonly lapse: NameRecord['lapse'];
  }) => Promise<NameActivity>;
  /** Looks up DNS and the registry in parallel. Late answers count as missing. The result isn't stored. */
  readonly lookUpNow: (name: string, dns: DnsClient, timeoutMs: number) => Promise<Observation>;
  /** How many days before a certificate expires to warn, highest first. */
  readonly certificateWarningDays: readonly number[];
  readonly pollNotifications: () => void;
  readonly processId: string;
  readonly now: () => Date;
  /** Returns a number in [0, 1) that spreads the lookups. Default: `Math.random`. */
  readonly random?: () => number;
  readonly log: Log;
  readonly signal: AbortSignal;
}
