import type { Caller, ServiceState } from '../operations/caller.ts';
import * as domains from '../operations/domains.ts';
import { bodilessRoute, type Outcome, type Route, route } from './route.ts';
import * as shapes from './shapes.ts';
import { formatTimestamp } from './timestamp.ts';

/**
 * Domain routes (“Domain” in the service's API documentation). Restore, auth code and owner change accept no body, because none is documented.
 * The nameserver update accepts nameservers as in the create payload.
 */
export const DOMAIN_ROUTES: readonly Route[] = [
  route({ method: 'POST', path: '/domain', task: 'domain.create' }, shapes.domainCreateSchema, (call) => {
    domains.createDomain(call.service, call.caller, call.body, call.ctid);
    return createOutcomeWithDates(call, call.body.name);
  }),
  route(
    { method: 'POST', path: '/domain/_transfer', task: 'domain.transfer' },
    shapes.domainTransferSchema,
    (call) => {
      domains.transferDomain(call.service, call.caller, call.body, call.ctid);
      return createOutcome(call.body.name);
    },
  ),
  route(
    { method: 'POST', path: '/domain/*/_renew', task: 'domain.renew' },
    shapes.domainRenewSchema,
    (call) => {
      domains.renewDomain(call.service, call.caller, call.name, call.body.period, call.ctid);
      return createOutcomeWithDates(call, call.name);
    },
  ),
  bodilessRoute({ method: 'DELETE', path: '/domain/*', task: 'domain.delete' }, (call) => {
    domains.deleteDomain(call.service, call.caller, call.name);
    return createOutcome(call.name);
  }),
  bodilessRoute({ method: 'POST', path: '/domain/*/_restore', task: 'domain.restore' }, (call) => {
    domains.restoreDomain(call.service, call.caller, call.name, call.ctid);
    return createOutcomeWithDates(call, call.name);
  }),
  bodilessRoute({ method: 'POST', path: '/domain/*/_authinfo1', task: 'domain.authinfo' }, (call) =>
    createOutcome(call.name, { authinfo: domains.readAuthCode(call.service, call.caller, call.name) }),
  ),
  bodilessRoute({ method: 'POST', path: '/domain/*/_ownerChange', task: 'domain.ownerChange' }, (call) => {
    domains.changeOwner(call.service, call.caller, call.name);
    return createOutcome(call.name);
  }),
  route({ method: 'PUT', path: '/domain/*', task: 'domain.update' }, shapes.domainUpdateSchema, (call) => {
    domains.updateNameservers(call.service, call.caller, call.name, call.body.nameServers);
    return createOutcome(call.name);
  }),
];

/** The domain's dates, formatted as in a redirect, because their format isn't documented. */
function createOutcomeWithDates(
  { service, caller }: { readonly service: ServiceState; readonly caller: Caller },
  name: string,
): Outcome {
  const domain = service.state.domain(name, caller.context);
  if (domain === undefined) return createOutcome(name);
  const { created, updated, expires } = domain;
  const dates = { created, updated, expires };
  return createOutcome(
    name,
    Object.fromEntries(Object.entries(dates).map(([field, time]) => [field, formatTimestamp(time)])),
  );
}

function createOutcome(name: string, data?: unknown): Outcome {
  return { object: { type: 'Domain', value: name, ...(data !== undefined && { data }) } };
}
