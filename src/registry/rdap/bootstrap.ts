import { z } from 'zod';

export interface RdapBootstrap {
  /** Server URLs, best first. Keyed by zone, in ASCII and lower case, without dots at either end. */
  readonly servers: ReadonlyMap<string, readonly string[]>;
}

const bootstrapFileSchema = z.object({ services: z.array(z.unknown()) });
const serviceSchema = z.tuple([z.array(z.string()), z.array(z.string())]);

/**
 * Skips unreadable entries, so that other zones stay usable.
 * @returns undefined if it isn't a bootstrap file or has no readable entry
 */
export function readRdapBootstrap(body: unknown): RdapBootstrap | undefined {
  const file = bootstrapFileSchema.safeParse(body);
  if (!file.success) return undefined;
  const servers = new Map<string, readonly string[]>();
  for (const entry of file.data.services) {
    const parsed = serviceSchema.safeParse(entry);
    if (!parsed.success) continue;
    const [zones, urls] = parsed.data;
    const usable = urls.filter(isWebAddress);
    if (usable.length === 0) continue;
    const bestFirst = usable.toSorted((a, b) => Number(isSecure(b)) - Number(isSecure(a)));
    for (const zone of zones) servers.set(zone.toLowerCase().replace(/^\.|\.$/g, ''), bestFirst);
  }
  return servers.size === 0 ? undefined : { servers };
}

/**
 * The server whose zone shares the most labels with the name; `https` is preferred to `http` (RFC 9224, sections 4 and
 * 8).
 * @param name in ASCII
 * @returns undefined if no server is listed
 */
export function findRecordUrl(bootstrap: RdapBootstrap, name: string): URL | undefined {
  const labels = name.split('.');
  for (let first = 0; first <= labels.length; first += 1) {
    const base = bootstrap.servers.get(labels.slice(first).join('.'))?.[0];
    if (base === undefined) continue;
    return new URL(`domain/${encodeURIComponent(name)}`, base.endsWith('/') ? base : `${base}/`);
  }
  return undefined;
}

function isWebAddress(text: string): boolean {
  return URL.canParse(text) && /^https?:$/.test(new URL(text).protocol);
}

function isSecure(url: string): boolean {
  return new URL(url).protocol === 'https:';
}
