import type { SandboxClock } from './clock.ts';
import { type DomainStatus, isTransferLocked, settleDomain, statusOf } from './lifecycle.ts';
import type { Charge, DomainRecord, StateData, TrustedApplicationRecord, UserRecord } from './model.ts';
import { type DomainSeed, domainRecord, type UserSeed, userRecord } from './records.ts';

/** A domain at the current time of the registry. */
export interface DomainView extends DomainRecord {
  readonly status: DomainStatus;
  readonly transferLocked: boolean;
}

/**
 * The sandbox's state, in memory. Code that changes a record must call {@link changed}, so that the change is saved.
 */
export class SandboxState {
  readonly data: StateData;
  readonly #clock: SandboxClock;
  readonly #changed: () => void;

  constructor(data: StateData, clock: SandboxClock, changed: () => void) {
    this.data = data;
    this.#clock = clock;
    this.#changed = changed;
  }

  changed(): void {
    this.#changed();
  }

  /** The server transaction id for the next response: `<date>-<app>-<number>`. */
  nextStid(): string {
    const number = this.data.nextTransaction;
    this.data.nextTransaction += 1;
    this.changed();
    const date = new Date(this.#clock.registry()).toISOString().slice(0, 10).replaceAll('-', '');
    return `${date}-sandbox1-${number}`;
  }

  /** Undefined if nobody holds the name in the context. */
  domain(name: string, context: number): DomainView | undefined {
    const index = this.data.domains.findIndex((one) => one.name === name && one.context === context);
    const record = this.data.domains[index];
    if (record === undefined) return undefined;
    const settled = settleDomain(record, this.#clock.registry());
    if (settled === undefined) this.data.domains.splice(index, 1);
    else this.data.domains[index] = settled;
    if (settled !== record) this.changed();
    return settled === undefined ? undefined : this.#view(settled);
  }

  domains(context: number): readonly DomainView[] {
    return this.data.domains
      .filter((one) => one.context === context)
      .map((one) => this.domain(one.name, context))
      .filter((one) => one !== undefined);
  }

  /** The holder of a name in public records. Only live contexts count, and the lowest one comes first. */
  publicDomain(name: string): DomainView | undefined {
    const contexts = this.data.domains.filter((one) => one.name === name && one.context !== 1);
    const [first] = contexts.map((one) => one.context).sort((a, b) => a - b);
    return first === undefined ? undefined : this.domain(name, first);
  }

  #view(record: DomainRecord): DomainView {
    const now = this.#clock.registry();
    return { ...record, status: statusOf(record, now), transferLocked: isTransferLocked(record, now) };
  }

  putDomain(record: DomainRecord): void {
    const index = this.data.domains.findIndex(
      (one) => one.name === record.name && one.context === record.context,
    );
    if (index === -1) this.data.domains.push(record);
    else this.data.domains[index] = record;
    this.changed();
  }

  /** For tests and demos. By default, adds a domain of the seeded accounts that expires in a year. */
  addDomain(seed: DomainSeed): DomainView {
    this.putDomain(domainRecord(seed, this.#clock.registry()));
    const added = this.domain(seed.name, seed.context);
    if (added === undefined) throw new RangeError(`adding ${seed.name}: it would be released already`);
    return added;
  }

  user(user: string, context: number): UserRecord | undefined {
    return this.data.users.find((one) => one.user === user && one.context === context);
  }

  users(context: number): readonly UserRecord[] {
    return this.data.users.filter((one) => one.context === context);
  }

  trustedApplication(uuid: string): TrustedApplicationRecord | undefined {
    return this.data.trustedApplications.find((one) => one.uuid === uuid.toLowerCase());
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
    return this.data.contacts.some((one) => one.id === id && one.context === context && one.group === group);
  }

  get charges(): readonly Charge[] {
    return this.data.charges;
  }

  addCharge(charge: Omit<Charge, 'at'>): void {
    this.data.charges.push({ ...charge, at: this.#clock.registry() });
    this.changed();
  }
}
