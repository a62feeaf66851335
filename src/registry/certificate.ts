import { connect } from 'node:tls';
import { type Fact, seen, unseen } from '../names/facts.ts';

/** How a certificate is read. */
export interface CertificateOptions {
  /** Whether this address may be connected to. */
  readonly mayConnect: (address: string) => boolean;
  readonly timeoutMs?: number;
  /** The port; 443 when left out. */
  readonly port?: number;
}

const HTTPS_PORT = 443;
const DEFAULT_TIMEOUT_MS = 5_000;

/**
 * Reads when the certificate of `https://name` ends. Nothing is sent over the connection. Whether the certificate can
 * be trusted is not checked, because only its date is needed.
 * @param addresses of the name, as they were seen; only these are connected to, so that a second look-up cannot lead
 * elsewhere
 * @throws the signal's reason when it is aborted
 */
export async function readCertificate(
  name: string,
  addresses: readonly string[],
  options: CertificateOptions,
  signal?: AbortSignal,
): Promise<Fact> {
  const address = addresses.find(options.mayConnect);
  return address === undefined ? unseen('private_address') : readEnd(name, address, options, signal);
}

function readEnd(
  name: string,
  address: string,
  { port = HTTPS_PORT, timeoutMs = DEFAULT_TIMEOUT_MS }: CertificateOptions,
  signal: AbortSignal | undefined,
): Promise<Fact> {
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
    const timer = setTimeout(() => end(() => resolve(unseen('timeout'))), timeoutMs);
    signal?.addEventListener('abort', abort, { once: true });
    socket.on('error', () => end(() => resolve(unseen('no_tls'))));
    socket.on('close', () => end(() => resolve(unseen('no_tls'))));
    socket.on('secureConnect', () => {
      const endsAt = Date.parse(socket.getPeerCertificate().valid_to);
      end(() => resolve(Number.isNaN(endsAt) ? unseen('no_tls') : seen([new Date(endsAt).toISOString()])));
    });
  });
}
