import { connect } from 'node:tls';

/** The end in ISO 8601, or why it is unknown. */
export type CertificateEnd =
  | { readonly state: 'seen'; readonly value: readonly [string] }
  | { readonly state: 'unseen'; readonly reason: 'private_address' | 'timeout' | 'no_tls' };

export interface CertificateOptions {
  readonly mayConnect: (address: string) => boolean;
  readonly timeoutMs?: number;
  /** 443 by default. */
  readonly port?: number;
}

const HTTPS_PORT = 443;
const DEFAULT_TIMEOUT_MS = 5_000;

/**
 * The end of the certificate of `https://name`. Nothing is sent, and trust isn't checked: only the date is needed.
 * @param addresses only these are connected to, so a second lookup can't lead elsewhere
 * @throws the signal's reason when aborted
 */
export async function readCertificate(
  name: string,
  addresses: readonly string[],
  options: CertificateOptions,
  signal?: AbortSignal,
): Promise<CertificateEnd> {
  const address = addresses.find(options.mayConnect);
  return address === undefined
    ? { state: 'unseen', reason: 'private_address' }
    : readEnd(name, address, options, signal);
}

function readEnd(
  name: string,
  address: string,
  { port = HTTPS_PORT, timeoutMs = DEFAULT_TIMEOUT_MS }: CertificateOptions,
  signal: AbortSignal | undefined,
): Promise<CertificateEnd> {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    const socket = connect({ host: address, port, servername: name, rejectUnauthorized: false });
    const end = (finish: () => void) => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', abort);
      socket.destroy();
      finish();
    };
    const abort = () => end(() => reject(signal?.reason));
    const timer = setTimeout(() => end(() => resolve({ state: 'unseen', reason: 'timeout' })), timeoutMs);
    signal?.addEventListener('abort', abort, { once: true });
    socket.on('error', () => end(() => resolve({ state: 'unseen', reason: 'no_tls' })));
    socket.on('close', () => end(() => resolve({ state: 'unseen', reason: 'no_tls' })));
    socket.on('secureConnect', () => {
      const endsAt = Date.parse(socket.getPeerCertificate().valid_to);
      end(() =>
        resolve(
          Number.isNaN(endsAt)
            ? { state: 'unseen', reason: 'no_tls' }
            : { state: 'seen', value: [new Date(endsAt).toISOString()] },
        ),
      );
    });
  });
}
