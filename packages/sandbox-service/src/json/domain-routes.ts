import type { Caller, ServiceState } from '../operations/caller.ts';
import * as domains from '../operations/domains.ts';
import { createBodilessRoute, createRoute, type JsonOutcome, type Route } from './route.ts';
import * as shapes from './shapes.ts';
import { formatTimestamp } from './timestamp.ts';

/**
 * Domain routes (“Domain” in the service's API documentation). Restore, auth code and owner change accept no body,
 * because none is documented. The nameserver update accepts nameservers in the format of the create payload.
 */
export const DOMAIN_ROUTES: readonly Route[] = [
  createRoute(
    { method: 'POST', path: '/domain', task: 'domain.create' },
    shapes.domainCreateSchema,
    (call) => {
      domains.createDomain(call.service, call.caller, call.body, call.ctid);
      return createOutcomeWithDates(call, call.body.name);
    },
  ),
  createRoute(
    { method: 'POST', path: '/domain/_transfer', task: 'domain.transfer' },
    shapes.domainTransferSchema,
    (call) => {
      domains.transferDomain(call.service, call.caller, call.body, call.ctid);
      return createOutcome(call.body.name);
    },
  ),
  createRoute(
    { method: 'POST', path: '/domain/*/_renew', task: 'domain.renew' },
    shapes.domainRenewSchema,
    (call) => {
      domains.renewDomain(call.service, call.caller, call.name, call.body.period, call.ctid);
      return createOutcomeWithDates(call, call.name);
    },
  ),
  createBodilessRoute({ method: 'DELETE', path: '/domain/*', task: 'domain.delete' }, (call) => {
    domains.deleteDomain(call.service, call.caller, call.name);
    return createOutcome(call.name);
  }),
  createBodilessRoute({ method: 'POST', path: '/domain/*/_restore', task: 'domain.restore' }, (call) => {
    domains.restoreDomain(call.service, call.caller, call.name, call.ctid);
    return createOutcomeWithDates(call, call.name);
  }),
  createBodilessRoute({ method: 'POST', path: '/domain/*/_authinfo1', task: 'domain.authinfo' }, (call) =>
    createOutcome(call.name, { authinfo: domains.getAuthCode(call.service, call.caller, call.name) }),
  ),
  createBodilessRoute(
    { method: 'POST', path: '/domain/*/_ownerChange', task: 'domain.ownerChange' },
    (call) => {
      domains.changeOwner(call.service, call.caller, call.name);
      return createOutcome(call.name);
    },
  ),
  createRoute(
    { method: 'PUT', path: '/domain/*', task: 'domain.update' },
    shapes.domainUpdateSchema,
    (call) => {
      domains.updateNameservers(call.service, call.caller, call.name, call.body.nameServers);
      return createOutcome(call.name);
    },
  ),
];

/** Formats the domain's dates like those of a redirect, because their format isn't documented. */
function createOutcomeWithDates(
  { service, caller }: { readonly service: ServiceState; readonly caller: Caller },
  name: string,
): JsonOutcome {
  const domain = service.state.findDomain(name, caller.context);
  if (domain === undefined) return createOutcome(name);
  return createOutcome(name, {
    created: formatTimestamp(domain.created),
    updated: formatTimestamp(domain.updated),
    expires: formatTimestamp(domain.expires),
  });
}

function createOutcome(name: string, data?: unknown): JsonOutcome {
  return { object: { type: 'Domain', value: name, ...(data !== undefined && { data }) } };
}
