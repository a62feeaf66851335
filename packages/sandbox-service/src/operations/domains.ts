import { randomBytes } from 'node:crypto';
import { addYears, DAY } from '../clock.ts';
import { expiryAfterRestore, MAX_YEARS, TRANSFER_LOCK_DAYS, transferCompletesAt } from '../lifecycle.ts';
import type { Charge, DomainRecord } from '../model.ts';
import { Refusal } from '../refusal.ts';
import { checkDomainName, checkNameservers } from '../rules.ts';
import type { DomainView } from '../state.ts';
import type { Caller, ServiceState } from './caller.ts';

/* Each task checks everything before it changes the state (“Domain” in the service's API documentation). */

interface ContactsAndNameservers {
  readonly ownerc: { readonly id: number };
  readonly adminc: { readonly id: number };
  readonly techc: { readonly id: number };
  readonly nameServers: readonly { readonly name: string }[];
}

export interface DomainCreateInput extends ContactsAndNameservers {
  readonly name: string;
  readonly confirmOrder: boolean;
}

export interface DomainTransferInput extends ContactsAndNameservers {
  readonly name: string;
  readonly auth: string;
}

/** Registers an available name for one year, because the payload has no period. Locks transfers for 60 days. */
export function createDomain(
  service: ServiceState,
  caller: Caller,
  input: DomainCreateInput,
  ctid?: string,
): void {
  const { name } = input;
  checkDomainName(name);
  const contactsAndNameservers = checkContactsAndNameservers(service, caller, input);
  if (!input.confirmOrder) throw new Refusal('rule', `confirmOrder: the order of ${name} is not confirmed`);
  if (service.state.domain(name, caller.context) !== undefined) {
    throw new Refusal('conflict', `${name} is registered already`);
  }
  const now = service.clock.registry();
  service.state.putDomain({
    name,
    context: caller.context,
    group: caller.group,
    created: now,
    updated: now,
    expires: addYears(now, 1),
    ...contactsAndNameservers,
    authCode: generateAuthCode(),
    transferLockUntil: now + TRANSFER_LOCK_DAYS * DAY,
  });
  recordCharge(service, caller, 'domain.create', name, 1, ctid);
}

/** Starts the transfer of another customer's name. It completes automatically after five days. */
export function transferDomain(
  service: ServiceState,
  caller: Caller,
  input: DomainTransferInput,
  ctid?: string,
): void {
  const { name } = input;
  checkDomainName(name);
  const contactsAndNameservers = checkContactsAndNameservers(service, caller, input);
  const domain = service.state.domain(name, caller.context);
  if (domain === undefined) throw new Refusal('not_found', `${name} is not registered`);
  if (domain.group === caller.group) throw new Refusal('conflict', `${name} is already in this account`);
  if (domain.pendingTransfer !== undefined) throw new Refusal('conflict', `${name} is being transferred`);
  if (domain.deletedAt !== undefined) throw new Refusal('conflict', `${name} has been deleted`);
  if (domain.isTransferLocked) throw new Refusal('transfer_lock', `${name} is locked against transfers`);
  if (domain.authCode !== input.auth)
    throw new Refusal('auth_code', `auth: wrong authorization code for ${name}`);
  const now = service.clock.registry();
  saveChanges(service, domain, {
    pendingTransfer: {
      group: caller.group,
      completesAt: transferCompletesAt(now),
      ...contactsAndNameservers,
    },
  });
  recordCharge(service, caller, 'domain.transfer', name, 1, ctid);
}

/**
 * Adds years to a domain, even during the auto-renew grace period.
 * @param period in years, like the zone's periods, because its unit isn't documented
 */
export function renewDomain(
  service: ServiceState,
  caller: Caller,
  name: string,
  period: number,
  ctid?: string,
): void {
  const domain = requireHeldDomain(service, caller, name);
  if (domain.deletedAt !== undefined)
    throw new Refusal('conflict', `${name} has been deleted: restore it first`);
  if (period < 1 || period > MAX_YEARS)
    throw new Refusal('rule', `period: 1 to ${MAX_YEARS} years, not ${period}`);
  const expires = addYears(domain.expires, period);
  if (expires > addYears(service.clock.registry(), MAX_YEARS)) {
    throw new Refusal('rule', `period: ${name} would expire more than ${MAX_YEARS} years from now`);
  }
  saveChanges(service, domain, { expires });
  recordCharge(service, caller, 'domain.renew', name, period, ctid);
}

/** Starts the redemption grace period. */
export function deleteDomain(service: ServiceState, caller: Caller, name: string): void {
  const domain = requireHeldDomain(service, caller, name);
  if (domain.deletedAt !== undefined) throw new Refusal('conflict', `${name} has been deleted already`);
  if (domain.pendingTransfer !== undefined) throw new Refusal('conflict', `${name} is being transferred`);
  saveChanges(service, domain, { deletedAt: service.clock.registry() });
}

/**
 * Reverses a deletion during the redemption grace period. The real registry does this manually, but the sandbox does it
 * immediately.
 */
export function restoreDomain(service: ServiceState, caller: Caller, name: string, ctid?: string): void {
  const domain = requireHeldDomain(service, caller, name);
  if (domain.status !== 'redemption') {
    throw new Refusal('conflict', `${name} is not in the redemption grace period`);
  }
  const { deletedAt: _, ...restored } = domain;
  saveChanges(service, restored, { expires: expiryAfterRestore(domain.expires, service.clock.registry()) });
  recordCharge(service, caller, 'domain.restore', name, 1, ctid);
}

export function readAuthCode(service: ServiceState, caller: Caller, name: string): string {
  const domain = requireHeldDomain(service, caller, name);
  if (domain.deletedAt !== undefined) throw new Refusal('conflict', `${name} has been deleted`);
  return domain.authCode;
}

/** Starts a change of the registrant, which locks transfers for 60 days. */
export function changeOwner(service: ServiceState, caller: Caller, name: string): void {
  const domain = requireHeldDomain(service, caller, name);
  if (domain.deletedAt !== undefined) throw new Refusal('conflict', `${name} has been deleted`);
  saveChanges(service, domain, { transferLockUntil: service.clock.registry() + TRANSFER_LOCK_DAYS * DAY });
}

export function updateNameservers(
  service: ServiceState,
  caller: Caller,
  name: string,
  nameServers: readonly { readonly name: string }[],
): void {
  const domain = requireHeldDomain(service, caller, name);
  if (domain.deletedAt !== undefined) throw new Refusal('conflict', `${name} has been deleted`);
  const names = nameServers.map((server) => server.name);
  checkNameservers(name, names);
  saveChanges(service, domain, { nameServers: names });
}

function requireHeldDomain(service: ServiceState, caller: Caller, name: string): DomainView {
  checkDomainName(name);
  const domain = service.state.domain(name, caller.context);
  if (domain === undefined || domain.group !== caller.group) {
    throw new Refusal('not_found', `${name} is not in this account`);
  }
  return domain;
}

function checkContactsAndNameservers(
  service: ServiceState,
  caller: Caller,
  input: ContactsAndNameservers & { readonly name: string },
): Pick<DomainRecord, 'ownerc' | 'adminc' | 'techc' | 'nameServers'> {
  for (const role of ['ownerc', 'adminc', 'techc'] as const) {
    if (!service.state.hasContact(input[role].id, caller.context, caller.group)) {
      throw new Refusal('contact', `${role}.id: there is no contact ${input[role].id} in this account`);
    }
  }
  const nameServers = input.nameServers.map((server) => server.name);
  checkNameservers(input.name, nameServers);
  return { ownerc: input.ownerc.id, adminc: input.adminc.id, techc: input.techc.id, nameServers };
}

function saveChanges(
  service: ServiceState,
  domain: DomainRecord & Partial<DomainView>,
  changes: Partial<DomainRecord>,
): void {
  const { status: _status, isTransferLocked: _locked, ...record } = domain;
  service.state.putDomain({ ...record, ...changes, updated: service.clock.registry() });
}

function recordCharge(
  service: ServiceState,
  caller: Caller,
  task: Charge['task'],
  name: string,
  years: number,
  ctid: string | undefined,
): void {
  const { user, context } = caller;
  service.state.addCharge({ task, name, context, user, years, ...(ctid !== undefined && { ctid }) });
}

function generateAuthCode(): string {
  return randomBytes(12).toString('base64url');
}
