import { randomBytes } from 'node:crypto';
import { addYears, DAY_MS } from '../clock.ts';
import {
  getExpiryAfterRestore,
  getTransferCompletionTime,
  MAX_REGISTRATION_YEARS,
  TRANSFER_LOCK_DAYS,
} from '../lifecycle.ts';
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

/** Registers a name for one year, because the request has no period, and locks transfers for 60 days. */
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
  if (service.state.findDomain(name, caller.context) !== undefined) {
    throw new Refusal('conflict', `${name} is registered already`);
  }
  const now = service.clock.registryTime();
  service.state.putDomain({
    name,
    context: caller.context,
    group: caller.group,
    created: now,
    updated: now,
    expires: addYears(now, 1),
    ...contactsAndNameservers,
    authCode: generateAuthCode(),
    transferLockUntil: now + TRANSFER_LOCK_DAYS * DAY_MS,
  });
  recordCharge(service, caller, 'domain.create', name, 1, ctid);
}

/** Starts the transfer of another customer's name, which completes automatically after five days. */
export function transferDomain(
  service: ServiceState,
  caller: Caller,
  input: DomainTransferInput,
  ctid?: string,
): void {
  const { name } = input;
  checkDomainName(name);
  const contactsAndNameservers = checkContactsAndNameservers(service, caller, input);
  const domain = service.state.findDomain(name, caller.context);
  if (domain === undefined) throw new Refusal('not_found', `${name} is not registered`);
  if (domain.group === caller.group) throw new Refusal('conflict', `${name} is already in this account`);
  if (domain.pendingTransfer !== undefined) throw new Refusal('conflict', `${name} is being transferred`);
  if (domain.deletedAt !== undefined) throw new Refusal('conflict', `${name} has been deleted`);
  if (domain.isTransferLocked) throw new Refusal('transfer_lock', `${name} is locked against transfers`);
  if (domain.authCode !== input.auth)
    throw new Refusal('auth_code', `auth: wrong authorization code for ${name}`);
  const now = service.clock.registryTime();
  saveChanges(service, domain, {
    pendingTransfer: {
      group: caller.group,
      completesAt: getTransferCompletionTime(now),
      ...contactsAndNameservers,
    },
  });
  recordCharge(service, caller, 'domain.transfer', name, 1, ctid);
}

/**
 * Adds years to a domain, even during the auto-renew grace period.
 * @param period in years, because the API documentation states no unit and zone profiles use years
 */
export function renewDomain(
  service: ServiceState,
  caller: Caller,
  name: string,
  period: number,
  ctid?: string,
): void {
  const domain = requireDomainInAccount(service, caller, name);
  if (domain.deletedAt !== undefined)
    throw new Refusal('conflict', `${name} has been deleted: restore it first`);
  if (period < 1 || period > MAX_REGISTRATION_YEARS)
    throw new Refusal('rule', `period: 1 to ${MAX_REGISTRATION_YEARS} years, not ${period}`);
  const expires = addYears(domain.expires, period);
  if (expires > addYears(service.clock.registryTime(), MAX_REGISTRATION_YEARS)) {
    throw new Refusal(
      'rule',
      `period: ${name} would expire more than ${MAX_REGISTRATION_YEARS} years from now`,
    );
  }
  saveChanges(service, domain, { expires });
  recordCharge(service, caller, 'domain.renew', name, period, ctid);
}

/** Starts the redemption grace period. */
export function deleteDomain(service: ServiceState, caller: Caller, name: string): void {
  const domain = requireDomainInAccount(service, caller, name);
  if (domain.deletedAt !== undefined) throw new Refusal('conflict', `${name} has been deleted already`);
  if (domain.pendingTransfer !== undefined) throw new Refusal('conflict', `${name} is being transferred`);
  saveChanges(service, domain, { deletedAt: service.clock.registryTime() });
}

/** Restores a deleted name immediately. The real registry restores names manually. */
export function restoreDomain(service: ServiceState, caller: Caller, name: string, ctid?: string): void {
  const domain = requireDomainInAccount(service, caller, name);
  if (domain.status !== 'redemption') {
    throw new Refusal('conflict', `${name} is not in the redemption grace period`);
  }
  const { deletedAt: _, ...restoredDomain } = domain;
  saveChanges(service, restoredDomain, {
    expires: getExpiryAfterRestore(domain.expires, service.clock.registryTime()),
  });
  recordCharge(service, caller, 'domain.restore', name, 1, ctid);
}

export function getAuthCode(service: ServiceState, caller: Caller, name: string): string {
  const domain = requireDomainInAccount(service, caller, name);
  if (domain.deletedAt !== undefined) throw new Refusal('conflict', `${name} has been deleted`);
  return domain.authCode;
}

/** Starts a change of the registrant, which locks transfers for 60 days. */
export function changeOwner(service: ServiceState, caller: Caller, name: string): void {
  const domain = requireDomainInAccount(service, caller, name);
  if (domain.deletedAt !== undefined) throw new Refusal('conflict', `${name} has been deleted`);
  saveChanges(service, domain, {
    transferLockUntil: service.clock.registryTime() + TRANSFER_LOCK_DAYS * DAY_MS,
  });
}

export function updateNameservers(
  service: ServiceState,
  caller: Caller,
  name: string,
  nameServers: readonly { readonly name: string }[],
): void {
  const domain = requireDomainInAccount(service, caller, name);
  if (domain.deletedAt !== undefined) throw new Refusal('conflict', `${name} has been deleted`);
  const nameserverNames = nameServers.map((server) => server.name);
  checkNameservers(name, nameserverNames);
  saveChanges(service, domain, { nameServers: nameserverNames });
}

function requireDomainInAccount(service: ServiceState, caller: Caller, name: string): DomainView {
  checkDomainName(name);
  const domain = service.state.findDomain(name, caller.context);
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
  service.state.putDomain({ ...record, ...changes, updated: service.clock.registryTime() });
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
