import { domainToUnicode } from 'node:url';
import type { Answer } from './answer.ts';
import type { Incoming, Plan } from './incoming.ts';
import type { DomainStatus } from './lifecycle.ts';
import type { ServiceState } from './operations/caller.ts';
import { entitiesOf, type RegistryPatch } from './registry-script.ts';
import type { DomainView } from './state.ts';

/** The registry's public records (RFC 9082, RFC 9083), and the bootstrap file that leads to them (RFC 9224). */

const ZONES = ['rest', 'example'];

const EPP_STATUS: Record<DomainStatus, string> = {
  registered: 'active',
  auto_renew_grace: 'auto renew period',
  redemption: 'redemption period',
  pending_delete: 'pending delete',
};

/** @param path below `/rdap`; @param origin `http://127.0.0.1:PORT` */
export function planRdap(service: ServiceState, incoming: Incoming, path: string, origin: string): Plan {
  const name = /^\/domain\/([^/]+)$/.exec(path)?.[1]?.toLowerCase() ?? null;
  const isBootstrap = path === '/bootstrap.json';
  return {
    task: name !== null ? 'rdap.domain' : isBootstrap ? 'rdap.bootstrap' : null,
    name,
    claim: null,
    loggedBody: null,
    run() {
      if (incoming.method !== 'GET' && incoming.method !== 'HEAD')
        return rdapError(405, 'method not allowed');
      if (isBootstrap) return answer(200, bootstrap(service, origin));
      const domain = name === null ? undefined : service.state.publicDomain(name);
      const patch = service.registry.patchOf(domain?.name ?? '') ?? {};
      if (domain === undefined || patch.isGone === true) return rdapError(404, 'not found');
      return answer(200, describe(domain, patch, service.clock.registry(), origin));
    },
  };
}

export function rdapError(errorCode: number, title: string): Answer {
  return answer(errorCode, { rdapConformance: ['rdap_level_0'], errorCode, title });
}

function bootstrap(service: ServiceState, origin: string): unknown {
  return {
    version: '1.0',
    publication: rfc3339(service.clock.registry()),
    description: 'The zones of the sandbox',
    services: [[ZONES, [`${origin}/rdap/`]]],
  };
}

function describe(domain: DomainView, patch: RegistryPatch, now: number, origin: string): unknown {
  const { transferredAt = domain.transferredAt, deletedAt = domain.deletedAt } = patch;
  const entities = entitiesOf(patch);
  const self = `${origin}/rdap/domain/${domain.name}`;
  const unicode = domainToUnicode(domain.name);
  return {
    rdapConformance: ['rdap_level_0'],
    objectClassName: 'domain',
    handle: `${domain.name.toUpperCase()}-SANDBOX`,
    ldhName: domain.name,
    ...(unicode !== domain.name && { unicodeName: unicode }),
    status: patch.statuses ?? statusesOf(domain, patch.locks),
    events: [
      { eventAction: 'registration', eventDate: rfc3339(domain.created) },
      { eventAction: 'expiration', eventDate: rfc3339(patch.expires ?? domain.expires) },
      { eventAction: 'last changed', eventDate: rfc3339(domain.updated) },
      ...(transferredAt === undefined
        ? []
        : [{ eventAction: 'transfer', eventDate: rfc3339(transferredAt) }]),
      ...(deletedAt === undefined ? [] : [{ eventAction: 'deletion', eventDate: rfc3339(deletedAt) }]),
      { eventAction: 'last update of RDAP database', eventDate: rfc3339(now) },
    ],
    nameservers: (patch.nameServers ?? domain.nameServers).map((server) => ({
      objectClassName: 'nameserver',
      ldhName: server,
    })),
    ...(entities.length > 0 && { entities }),
    ...(patch.isSigned !== undefined && { secureDNS: { delegationSigned: patch.isSigned } }),
    links: [{ value: self, rel: 'self', href: self, type: 'application/rdap+json' }],
    ...patch.record,
  };
}

function statusesOf(domain: DomainView, locks: readonly string[] = []): readonly string[] {
  const { status, pendingTransfer, transferLocked } = domain;
  return [
    EPP_STATUS[status],
    ...(pendingTransfer === undefined ? [] : ['pending transfer']),
    ...new Set([...(transferLocked ? ['client transfer prohibited'] : []), ...locks]),
  ];
}

function rfc3339(time: number): string {
  return new Date(time).toISOString();
}

function answer(httpStatus: number, content: unknown): Answer {
  const headers = { 'content-type': 'application/rdap+json', 'access-control-allow-origin': '*' };
  return { httpStatus, headers, body: JSON.stringify(content), code: null };
}
