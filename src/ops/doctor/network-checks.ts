import { connect as connectPlain } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { exchangeOnFreshConnection, HttpExchangeError } from '../../http/exchange.ts';
import { DAY_MS } from '../../lib/duration.ts';
import { checkClock } from './database-checks.ts';
import { type Finding, formatCount, ok, warning, wrong } from './finding.ts';

const TIMEOUT_MS = 10_000;
const MAX_RESPONSE_BYTES = 2_000_000;
const MIN_CERTIFICATE_DAYS = 14;

/**
 * Only connects and checks the certificate, because the service API documents no request without side
 * effects.
 */
export async function checkReachable(variable: string, url: string, now: Date): Promise<Finding> {
  const { protocol, hostname, port, host } = new URL(url);
  const isHttp = protocol === 'http:';
  const target = { host: hostname.replace(/^\[|\]$/g, ''), port: Number(port || (isHttp ? 80 : 443)) };
  try {
    const expiresAt = await new Promise<Date | undefined>((resolve, reject) => {
      const socket = isHttp ? connectPlain(target) : connectTls({ ...target, servername: target.host });
      socket.setTimeout(TIMEOUT_MS, () => socket.destroy(new Error('connecting timed out')));
      socket.once('error', reject);
      socket.once(isHttp ? 'connect' : 'secureConnect', () => {
        const certificate = 'getPeerCertificate' in socket ? socket.getPeerCertificate() : undefined;
        resolve(certificate === undefined ? undefined : new Date(certificate.valid_to));
        socket.destroy();
      });
    });
    if (expiresAt === undefined)
      return warning(
        variable,
        `${host} is reachable, without TLS.`,
        'Use https, unless it is on this machine.',
      );
    const remainingDays = Math.floor((expiresAt.getTime() - now.getTime()) / DAY_MS);
    const description = `${host} is reachable; its certificate is valid for ${formatCount(remainingDays, 'more day')}.`;
    return remainingDays < MIN_CERTIFICATE_DAYS
      ? warning(variable, description, 'Tell its operator.')
      : ok(variable, description);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    return wrong(
      variable,
      `${host} can’t be reached: ${reason}.`,
      `Check ${variable}, the network, and NODE_EXTRA_CA_CERTS.`,
    );
  }
}

/** Signatures of Slack's requests can only be verified if this machine's clock is right. */
export async function checkSlackClock(apiUrl: string, now: () => Date): Promise<Finding> {
  const { headers } = await get(new URL('api.test', apiUrl));
  const serverTime = new Date(String(headers['date']));
  return Number.isNaN(serverTime.getTime())
    ? ok('Slack’s clock', 'unknown.')
    : checkClock('Slack’s clock', serverTime, now());
}

/** Expiry dates can't be looked up without the list of RDAP servers (RFC 9224). */
export async function checkRegistryList(url: string): Promise<Finding> {
  const action =
    'Watching names requires RDAP. Allow the bot to connect to this address and to the registries.';
  try {
    const { status } = await get(new URL(url));
    if (status === 200) return ok('Registries', `the list at ${url} is reachable.`);
    return warning('Registries', `${url} returned HTTP ${status}.`, action);
  } catch (error) {
    return warning('Registries', `${url} can’t be reached: ${formatNetworkError(error)}.`, action);
  }
}

/** No calendar has this token, and only the bot gives the expected answer. */
const UNKNOWN_CALENDAR_PATH = `/calendar/${'0'.repeat(40)}.ics`;

/** Checks whether `PUBLIC_URL` leads to a bot, as seen from this machine. */
export async function checkPublicUrl(publicUrl: string): Promise<Finding> {
  const variable = 'PUBLIC_URL';
  const action = 'Start the bot, then check the proxy: it has to forward /slack/events and /calendar/.';
  try {
    const { status, headers, body } = await get(new URL(`${publicUrl}${UNKNOWN_CALENDAR_PATH}`));
    const isBot =
      headers['referrer-policy'] === 'no-referrer' && body?.toString() === '{"error":"not found"}';
    if (status === 404 && isBot) return ok(variable, 'reaches a bot.');
    return warning(variable, `something else answers there (${status}).`, action);
  } catch (error) {
    return warning(variable, `nothing answers there: ${formatNetworkError(error)}.`, action);
  }
}

function formatNetworkError(error: unknown): string {
  return error instanceof HttpExchangeError && error.cause instanceof Error
    ? error.cause.message
    : String(error);
}

function get({ origin, pathname, search }: URL) {
  const request = { origin, path: `${pathname}${search}`, method: 'GET', headers: [] } as const;
  return exchangeOnFreshConnection(request, { timeoutMs: TIMEOUT_MS, maxBytes: MAX_RESPONSE_BYTES });
}
