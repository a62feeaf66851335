import { z } from 'zod';

export interface RdapBootstrap {
  /** Server URLs, best first. Keyed by zone in lowercase ASCII, without dots at either end. */
  readonly servers: ReadonlyMap<string, readonly string[]>;
}

const bootstrapFileSchema = z.object({ services: z.array(z.unknown()) });
const serviceSchema = z.tuple([z.array(z.string()), z.array(z.string())]);

/**
 * Skips unreadable entries, so that other zones stay usable.
 * @returns undefined if the body isn't a bootstrap file or has no readable entry
 */
export function parseRdapBootstrap(body: unknown): RdapBootstrap | undefined {
  const file = bootstrapFileSchema.safeParse(body);
  if (!file.success) return undefined;
  const servers = new Map<string, readonly string[]>();
  for (const entry of file.data.services) {
    const parsed = serviceSchema.safeParse(entry);
    if (!parsed.success) continue;
    const [zones, urls] = parsed.data;
    const webUrls = urls.filter(isWebUrl);
    if (webUrls.length === 0) continue;
    const sortedUrls = webUrls.toSorted((a, b) => Number(isHttps(b)) - Number(isHttps(a)));
    for (const zone of zones) servers.set(zone.toLowerCase().replace(/^\.|\.$/g, ''), sortedUrls);
  }
  return servers.size === 0 ? undefined : { servers };
}

/**
 * Uses the server whose zone shares the most labels with the name, and prefers `https` (RFC 9224, sections 4
 * and 8).
 * @param name in ASCII
 * @returns undefined if no server is listed
 */
export function findRecordUrl(bootstrap: RdapBootstrap, name: string): URL | undefined {
  const labels = name.split('.');
  for (let labelIndex = 0; labelIndex <= labels.length; labelIndex += 1) {
    const serverUrl = bootstrap.servers.get(labels.slice(labelIndex).join('.'))?.[0];
    if (serverUrl === undefined) continue;
    return new URL(
      `domain/${encodeURIComponent(name)}`,
      serverUrl.endsWith('/') ? serverUrl : `${serverUrl}/`,
    );
  }
  return undefined;
}

function isWebUrl(text: string): boolean {
  return URL.canParse(text) && /^https?:$/.test(new URL(text).protocol);
}

function isHttps(url: string): boolean {
  return new URL(url).protocol === 'https:';
}
