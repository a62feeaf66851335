import type { SandboxClock } from './clock.ts';
import { advanceDomain, type DomainStatus, isTransferLocked, statusOf } from './lifecycle.ts';
import type { Charge, DomainRecord, StateData, TrustedApplicationRecord, UserRecord } from './model.ts';
import { type DomainSeed, domainRecord, type UserSeed, userRecord } from './records.ts';

/** A domain at the current time of the registry. */
export interface DomainView extends DomainRecord {
  readonly status: DomainStatus;
  readonly isTransferLocked: boolean;
}

/**
 * The sandbox's state, in memory. Code that changes a record must call {@link changed}, so that the change is saved.
 */
export class SandboxState {
  readonly data: StateData;
  readonly #clock: SandboxClock;
  readonly #onChanged: () => void;

  constructor(data: StateData, clock: SandboxClock, onChanged: () => void) {
    this.data = data;
    this.#clock = clock;
    this.#onChanged = onChanged;
  }

  changed(): void {
    this.#onChanged();
  }

  /** Server transaction ids have the format `<date>-<app>-<number>`. */
  nextStid(): string {
    const number = this.data.nextTransaction;
    this.data.nextTransaction += 1;
    this.changed();
    const date = new Date(this.#clock.registry()).toISOString().slice(0, 10).replaceAll('-', '');
    return `${date}-sandbox1-${number}`;
  }

  /** Undefined if nobody holds the name in the context. */
  domain(name: string, context: number): DomainView | undefined {
    const index = this.data.domains.findIndex(
      (candidate) => candidate.name === name && candidate.context === context,
    );
    const record = this.data.domains[index];
    if (record === undefined) return undefined;
    const current = advanceDomain(record, this.#clock.registry());
    if (current === undefined) this.data.domains.splice(index, 1);
    else this.data.domains[index] = current;
    if (current !== record) this.changed();
    return current === undefined ? undefined : this.#toView(current);
  }

  domains(context: number): readonly DomainView[] {
    return this.data.domains
      .filter((record) => record.context === context)
      .map((record) => this.domain(record.name, context))
      .filter((record) => record !== undefined);
  }

  /** The domain that public records show: the one in the lowest live context. */
  publicDomain(name: string): DomainView | undefined {
    const contexts = this.data.domains.filter((record) => record.name === name && record.context !== 1);
    const [first] = contexts.map((record) => record.context).sort((a, b) => a - b);
    return first === undefined ? undefined : this.domain(name, first);
  }

  #toView(record: DomainRecord): DomainView {
    const now = this.#clock.registry();
    return { ...record, status: statusOf(record, now), isTransferLocked: isTransferLocked(record, now) };
  }

  putDomain(record: DomainRecord): void {
    const index = this.data.domains.findIndex(
      (candidate) => candidate.name === record.name && candidate.context === record.context,
    );
    if (index === -1) this.data.domains.push(record);
    else this.data.domains[index] = record;
    this.changed();
  }

  /** For tests and demos. By default, adds a domain of the seeded accounts that expires in a year. */
  addDomain(seed: DomainSeed): DomainView {
    this.putDomain(domainRecord(seed, this.#clock.registry()));
    const added = this.domain(seed.name, seed.context);
    if (added === undefined) throw new RangeError(`adding ${seed.name}: it would already be released`);
    return added;
  }

  user(user: string, context: number): UserRecord | undefined {
    return this.data.users.find((record) => record.user === user && record.context === context);
  }

  users(context: number): readonly UserRecord[] {
    return this.data.users.filter((record) => record.context === context);
  }

  trustedApplication(uuid: string): TrustedApplicationRecord | undefined {
    return this.data.trustedApplications.find((record) => record.uuid === uuid.toLowerCase());
  }

  /** For tests and demos. By default, adds a user of the seeded group. */
  addUser(seed: UserSeed): UserRecord {
    if (this.user(seed.user, seed.context) !== undefined) {
      throw new RangeError(`adding user ${seed.user}: there is one in context ${seed.context}`);
    }
    const record = userRecord(seed);
    this.data.users.push(record);
    this.changed();
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
    this.data.charges.push({ ...charge, at: this.#clock.registry() });
    this.changed();
  }
}
