import type { SandboxClock } from './clock.ts';
import { advanceDomain, type DomainStatus, getDomainStatus, isTransferLocked } from './lifecycle.ts';
import type { Charge, DomainRecord, StateData, TrustedApplicationRecord, UserRecord } from './model.ts';
import { buildDomainRecord, buildUserRecord, type DomainSeed, type UserSeed } from './records.ts';

/** A domain at the current time of the registry. */
export interface DomainView extends DomainRecord {
  readonly status: DomainStatus;
  readonly isTransferLocked: boolean;
}

/** The sandbox's state, in memory. Code that changes `data` must call {@link markChanged}, so that it is saved. */
export class SandboxState {
  readonly data: StateData;
  readonly #clock: SandboxClock;
  readonly #onChanged: () => void;

  constructor(data: StateData, clock: SandboxClock, onChanged: () => void) {
    this.data = data;
    this.#clock = clock;
    this.#onChanged = onChanged;
  }

  markChanged(): void {
    this.#onChanged();
  }

  /** Server transaction ids have the format `<date>-<app>-<number>`. */
  nextStid(): string {
    const number = this.data.nextTransaction;
    this.data.nextTransaction += 1;
    this.markChanged();
    const date = new Date(this.#clock.registryTime()).toISOString().slice(0, 10).replaceAll('-', '');
    return `${date}-sandbox1-${number}`;
  }

  /** Undefined if the name isn't registered in the context. */
  findDomain(name: string, context: number): DomainView | undefined {
    const index = this.data.domains.findIndex(
      (candidate) => candidate.name === name && candidate.context === context,
    );
    const record = this.data.domains[index];
    if (record === undefined) return undefined;
    const current = advanceDomain(record, this.#clock.registryTime());
    if (current === undefined) this.data.domains.splice(index, 1);
    else this.data.domains[index] = current;
    if (current !== record) this.markChanged();
    return current === undefined ? undefined : this.#toView(current);
  }

  listDomains(context: number): readonly DomainView[] {
    return this.data.domains
      .filter((record) => record.context === context)
      .map((record) => this.findDomain(record.name, context))
      .filter((record) => record !== undefined);
  }

  /** The domain that public records show: the one in the lowest live context. */
  findPublicDomain(name: string): DomainView | undefined {
    const liveRecords = this.data.domains.filter((record) => record.name === name && record.context !== 1);
    const [lowestContext] = liveRecords.map((record) => record.context).sort((a, b) => a - b);
    return lowestContext === undefined ? undefined : this.findDomain(name, lowestContext);
  }

  #toView(record: DomainRecord): DomainView {
    const now = this.#clock.registryTime();
    return {
      ...record,
      status: getDomainStatus(record, now),
      isTransferLocked: isTransferLocked(record, now),
    };
  }

  putDomain(record: DomainRecord): void {
    const index = this.data.domains.findIndex(
      (candidate) => candidate.name === record.name && candidate.context === record.context,
    );
    if (index === -1) this.data.domains.push(record);
    else this.data.domains[index] = record;
    this.markChanged();
  }

  /** For tests and demos. By default, adds a domain of the seeded accounts that expires in a year. */
  addDomain(seed: DomainSeed): DomainView {
    this.putDomain(buildDomainRecord(seed, this.#clock.registryTime()));
    const addedDomain = this.findDomain(seed.name, seed.context);
    if (addedDomain === undefined) throw new RangeError(`${seed.name} would already have been released`);
    return addedDomain;
  }

  findUser(user: string, context: number): UserRecord | undefined {
    return this.data.users.find((record) => record.user === user && record.context === context);
  }

  listUsers(context: number): readonly UserRecord[] {
    return this.data.users.filter((record) => record.context === context);
  }

  findTrustedApplication(uuid: string): TrustedApplicationRecord | undefined {
    return this.data.trustedApplications.find((record) => record.uuid === uuid.toLowerCase());
  }

  /** By default, adds a user of the seeded group. */
  addUser(seed: UserSeed): UserRecord {
    if (this.findUser(seed.user, seed.context) !== undefined) {
      throw new RangeError(`user ${seed.user} already exists in context ${seed.context}`);
    }
    const record = buildUserRecord(seed);
    this.data.users.push(record);
    this.markChanged();
    return record;
  }

  hasContact(id: number, context: number, group: string): boolean {
    return this.data.contacts.some(
      (record) => record.id === id && record.context === context && record.group === group,
    );
  }

  get charges(): readonly Charge[] {
    return this.data.charges;
  }

  addCharge(charge: Omit<Charge, 'at'>): void {
    this.data.charges.push({ ...charge, at: this.#clock.registryTime() });
    this.markChanged();
  }
}
