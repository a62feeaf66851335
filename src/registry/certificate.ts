import { checkServerIdentity, connect, type PeerCertificate } from 'node:tls';

/**
 * `value` lists the expiry in ISO 8601, then `issuer:…` if the issuer is known, and `mismatch:…` with the
 * first few names if the certificate doesn't cover the requested name.
 */
export type CertificateReading =
  | { readonly state: 'seen'; readonly value: readonly [string, ...string[]] }
  | { readonly state: 'unseen'; readonly reason: 'private_address' | 'timeout' | 'no_tls' };

export interface CertificateOptions {
  readonly mayConnect: (address: string) => boolean;
  readonly timeoutMs?: number;
  /** Default: 443. */
  readonly port?: number;
}

const HTTPS_PORT = 443;
const DEFAULT_TIMEOUT_MS = 5_000;
/** Certificates can have thousands of names. */
const MAX_NAMES = 3;
const MAX_TEXT_LENGTH = 100;

/**
 * Reads the certificate of `https://name`, using SNI. Sends no request and accepts untrusted certificates.
 * @param addresses the only addresses to connect to, so that a second DNS lookup can't change the target
 * @throws the signal's reason when aborted
 */
export async function readCertificate(
  name: string,
  addresses: readonly string[],
  options: CertificateOptions,
  signal?: AbortSignal,
): Promise<CertificateReading> {
  const address = addresses.find(options.mayConnect);
  return address === undefined
    ? { state: 'unseen', reason: 'private_address' }
    : readCertificateAt(name, address, options, signal);
}

function readCertificateAt(
  name: string,
  address: string,
  { port = HTTPS_PORT, timeoutMs = DEFAULT_TIMEOUT_MS }: CertificateOptions,
  signal: AbortSignal | undefined,
): Promise<CertificateReading> {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    const socket = connect({ host: address, port, servername: name, rejectUnauthorized: false });
    const closeAndSettle = (settle: () => void) => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', abort);
      socket.destroy();
      settle();
    };
    const abort = () => closeAndSettle(() => reject(signal?.reason));
    const timer = setTimeout(
      () => closeAndSettle(() => resolve({ state: 'unseen', reason: 'timeout' })),
      timeoutMs,
    );
    signal?.addEventListener('abort', abort, { once: true });
    socket.on('error', () => closeAndSettle(() => resolve({ state: 'unseen', reason: 'no_tls' })));
    socket.on('close', () => closeAndSettle(() => resolve({ state: 'unseen', reason: 'no_tls' })));
    socket.on('secureConnect', () => {
      const reading = toReading(name, socket.getPeerCertificate());
      closeAndSettle(() => resolve(reading));
    });
  });
}

/** @param certificate empty if the server has no certificate */
function toReading(name: string, certificate: PeerCertificate): CertificateReading {
  const expiresAtMs = Date.parse(certificate.valid_to);
  if (Number.isNaN(expiresAtMs)) return { state: 'unseen', reason: 'no_tls' };
  const issuer = [certificate.issuer.O, certificate.issuer.CN].flat().find((text) => text !== undefined);
  const isMismatch = checkServerIdentity(name, certificate) !== undefined;
  const details = [
    ...(issuer === undefined ? [] : [`issuer:${issuer.slice(0, MAX_TEXT_LENGTH)}`]),
    ...(isMismatch ? [`mismatch:${formatNames(certificate).slice(0, MAX_TEXT_LENGTH)}`] : []),
  ];
  return { state: 'seen', value: [new Date(expiresAtMs).toISOString(), ...details.sort()] };
}

function formatNames({ subject, subjectaltname = '' }: PeerCertificate): string {
  const names = [...subjectaltname.matchAll(/DNS:([^,\s"]+)/g)].slice(0, MAX_NAMES).map(([, name]) => name);
  return names.length > 0 ? names.join(' ') : [subject.CN ?? ''].flat().join(' ');
}
