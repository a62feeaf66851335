import { domainToUnicode } from 'node:url';
import type { Answer } from './answer.ts';
import type { ReceivedRequest, RequestPlan } from './incoming.ts';
import type { DomainStatus } from './lifecycle.ts';
import type { ServiceState } from './operations/caller.ts';
import { formatEntities, type RegistryPatch } from './registry-script.ts';
import type { DomainView } from './state.ts';

/** The registry's public records (RFC 9082, RFC 9083), and the bootstrap file that lists their server (RFC 9224). */

const ZONES = ['rest', 'example'];

const RDAP_STATUSES: Record<DomainStatus, string> = {
  registered: 'active',
  auto_renew_grace: 'auto renew period',
  redemption: 'redemption period',
  pending_delete: 'pending delete',
};

/**
 * @param path below `/rdap`
 * @param origin `http://127.0.0.1:PORT`
 */
export function planRdap(
  service: ServiceState,
  incoming: ReceivedRequest,
  path: string,
  origin: string,
): RequestPlan {
  const name = /^\/domain\/([^/]+)$/.exec(path)?.[1]?.toLowerCase() ?? null;
  const isBootstrap = path === '/bootstrap.json';
  return {
    task: name !== null ? 'rdap.domain' : isBootstrap ? 'rdap.bootstrap' : null,
    name,
    claim: null,
    loggedBody: null,
    run() {
      if (incoming.method !== 'GET' && incoming.method !== 'HEAD')
        return createRdapError(405, 'method not allowed');
      if (isBootstrap) return createAnswer(200, formatBootstrap(service, origin));
      const domain = name === null ? undefined : service.state.findPublicDomain(name);
      const patch = service.registry.getPatch(domain?.name ?? '') ?? {};
      if (domain === undefined || patch.isGone === true) return createRdapError(404, 'not found');
      return createAnswer(200, formatDomain(domain, patch, service.clock.registryTime(), origin));
    },
  };
}

export function createRdapError(errorCode: number, title: string): Answer {
  return createAnswer(errorCode, { rdapConformance: ['rdap_level_0'], errorCode, title });
}

function formatBootstrap(service: ServiceState, origin: string): unknown {
  return {
    version: '1.0',
    publication: formatRfc3339(service.clock.registryTime()),
    description: 'The zones of the sandbox',
    services: [[ZONES, [`${origin}/rdap/`]]],
  };
}

function formatDomain(domain: DomainView, patch: RegistryPatch, now: number, origin: string): unknown {
  const { transferredAt = domain.transferredAt, deletedAt = domain.deletedAt } = patch;
  const entities = formatEntities(patch);
  const url = `${origin}/rdap/domain/${domain.name}`;
  const unicodeName = domainToUnicode(domain.name);
  return {
    rdapConformance: ['rdap_level_0'],
    objectClassName: 'domain',
    handle: `${domain.name.toUpperCase()}-SANDBOX`,
    ldhName: domain.name,
    ...(unicodeName !== domain.name && { unicodeName }),
    status: patch.statuses ?? formatStatuses(domain, patch.locks),
    events: [
      { eventAction: 'registration', eventDate: formatRfc3339(domain.created) },
      { eventAction: 'expiration', eventDate: formatRfc3339(patch.expires ?? domain.expires) },
      { eventAction: 'last changed', eventDate: formatRfc3339(domain.updated) },
      ...(transferredAt === undefined
        ? []
        : [{ eventAction: 'transfer', eventDate: formatRfc3339(transferredAt) }]),
      ...(deletedAt === undefined ? [] : [{ eventAction: 'deletion', eventDate: formatRfc3339(deletedAt) }]),
      { eventAction: 'last update of RDAP database', eventDate: formatRfc3339(now) },
    ],
    nameservers: (patch.nameServers ?? domain.nameServers).map((server) => ({
      objectClassName: 'nameserver',
      ldhName: server,
    })),
    ...(entities.length > 0 && { entities }),
    ...(patch.isSigned !== undefined && { secureDNS: { delegationSigned: patch.isSigned } }),
    links: [{ value: url, rel: 'self', href: url, type: 'application/rdap+json' }],
    ...patch.record,
  };
}

function formatStatuses(domain: DomainView, locks: readonly string[] = []): readonly string[] {
  const { status, pendingTransfer, isTransferLocked } = domain;
  return [
    RDAP_STATUSES[status],
    ...(pendingTransfer === undefined ? [] : ['pending transfer']),
    ...new Set([...(isTransferLocked ? ['client transfer prohibited'] : []), ...locks]),
  ];
}

function formatRfc3339(time: number): string {
  return new Date(time).toISOString();
}

function createAnswer(httpStatus: number, content: unknown): Answer {
  const headers = { 'content-type': 'application/rdap+json', 'access-control-allow-origin': '*' };
  return { httpStatus, headers, body: JSON.stringify(content), code: null };
}
