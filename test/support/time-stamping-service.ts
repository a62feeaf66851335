import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

/*
 * A time stamping service (RFC 3161): OpenSSL's, behind HTTP, with a root and a certificate that were made for it.
 */

const CONFIG = `
[req]
distinguished_name = name
[name]
[root]
basicConstraints = critical, CA:true
subjectKeyIdentifier = hash
[stamps]
extendedKeyUsage = critical, timeStamping
basicConstraints = CA:false
subjectKeyIdentifier = hash
authorityKeyIdentifier = keyid
[tsa]
serial = serial
signer_digest = sha256
default_policy = 1.2.3.4.1
digests = sha256, sha384, sha512
ess_cert_id_alg = sha256
ess_cert_id_chain = no
[picky]
serial = serial
signer_digest = sha256
default_policy = 1.2.3.4.1
digests = sha512
`;

/** The status of an answer that has a token, in DER. */
const GRANTED = Buffer.from('3003020100', 'hex');

const run = promisify(execFile);

/** What the service does with a request. */
type Answer = (request: Buffer, response: ServerResponse) => Promise<void> | void;

export async function startTimeStampingService() {
  const folder = await mkdtemp(join(tmpdir(), 'domain-steward-tsa-'));
  const openssl = (...args: readonly string[]) => run('openssl', args, { cwd: folder });
  await writeFile(join(folder, 'openssl.cnf'), CONFIG);
  const config = ['-config', 'openssl.cnf'] as const;
  const key = ['-newkey', 'rsa:2048', '-nodes'] as const;
  await openssl(
    ...['req', '-x509', ...key, ...config, '-extensions', 'root', '-subj', '/CN=Root of tests'],
    ...['-keyout', 'root.key', '-out', 'root.pem', '-days', '30'],
  );
  await openssl(
    ...['req', ...key, ...config, '-subj', '/CN=Stamps of tests', '-keyout', 'tsa.key', '-out', 'tsa.csr'],
  );
  await openssl(
    ...['x509', '-req', '-in', 'tsa.csr', '-CA', 'root.pem', '-CAkey', 'root.key', '-CAcreateserial'],
    ...['-extfile', 'openssl.cnf', '-extensions', 'stamps', '-days', '30', '-out', 'tsa.pem'],
  );
  let count = 0;

  /** The answer of the service to a request. @param section of its settings */
  async function reply(request: Buffer, section = 'tsa'): Promise<Buffer> {
    count += 1;
    const [query, answer] = [`${count}.tsq`, `${count}.tsr`];
    await writeFile(join(folder, query), request);
    await openssl(
      ...['ts', '-reply', ...config, '-section', section, '-queryfile', query, '-out', answer],
      ...['-signer', 'tsa.pem', '-inkey', 'tsa.key'],
    );
    return readFile(join(folder, answer));
  }

  /** An answer that is signed anew, with a certificate that is not one for time stamps. */
  async function replyByOther(request: Buffer): Promise<Buffer> {
    await writeFile(join(folder, 'good.tsr'), await reply(request));
    await openssl('ts', '-reply', '-in', 'good.tsr', '-token_out', '-out', 'good.der');
    await openssl('cms', '-verify', '-noverify', '-inform', 'DER', '-in', 'good.der', '-out', 'info');
    await openssl(
      ...['req', '-x509', ...key, ...config, '-subj', '/CN=Somebody', '-keyout', 'other.key'],
      ...['-out', 'other.pem'],
    );
    await openssl(
      ...['cms', '-sign', '-cades', '-nodetach', '-binary', '-outform', 'DER', '-in', 'info'],
      ...['-econtent_type', '1.2.840.113549.1.9.16.1.4', '-signer', 'other.pem', '-inkey', 'other.key'],
      ...['-md', 'sha256', '-out', 'other.der'],
    );
    const content = Buffer.concat([GRANTED, await readFile(join(folder, 'other.der'))]);
    const head = Buffer.of(0x30, 0x82, content.length >> 8, content.length & 0xff);
    return Buffer.concat([head, content]);
  }

  /** A request that somebody else could have sent. @param hash in hex */
  async function requestFor(hash: string): Promise<Buffer> {
    await openssl('ts', '-query', '-digest', hash, '-sha256', '-cert', '-out', 'other.tsq');
    return readFile(join(folder, 'other.tsq'));
  }

  /** What OpenSSL says of a token, as an auditor would ask it. @param hash that it has to be over, in hex */
  async function verify(token: Uint8Array, hash: string): Promise<boolean> {
    await writeFile(join(folder, 'token.der'), token);
    const { stdout } = await openssl(
      ...['ts', '-verify', '-digest', hash, '-in', 'token.der', '-token_in', '-CAfile', 'root.pem'],
    );
    return stdout.includes('Verification: OK');
  }

  /** Runs what the verifier's README says about a receipt. @returns what it prints */
  async function asDocumented(receipt: string): Promise<string> {
    const readme = await readFile(new URL('../../packages/ledger-verify/README.md', import.meta.url), 'utf8');
    const [, script = ''] = /```sh\n(.*?)```/s.exec(readme) ?? [];
    await writeFile(join(folder, 'receipt.jsonl'), receipt);
    await writeFile(join(folder, 'root-of-the-service.pem'), await readFile(join(folder, 'root.pem')));
    const { stdout } = await run('sh', ['-c', script], { cwd: folder });
    return stdout;
  }

  /** SHA-256 of its certificate, as the operator of such a service says it. */
  async function fingerprint(): Promise<string> {
    const { stdout } = await openssl('x509', '-in', 'tsa.pem', '-noout', '-fingerprint', '-sha256');
    return stdout.trim().split('=')[1] ?? '';
  }

  const asExpected: Answer = async (request, response) => {
    response.writeHead(200, { 'content-type': 'application/timestamp-reply' }).end(await reply(request));
  };
  let answer = asExpected;
  let asked = 0;
  const server = createServer((request, response) => {
    asked += 1;
    const chunks: Buffer[] = [];
    request.on('data', (chunk) => chunks.push(chunk));
    request.on('end', () => void answer(Buffer.concat(chunks), response));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/stamp`,
    reply,
    replyByOther,
    requestFor,
    verify,
    fingerprint,
    asDocumented,
    /** How often it was asked. */
    asked: () => asked,
    /** Answers in another way from now on; left out: as it should. */
    answers(another: Answer = asExpected) {
      answer = another;
    },
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      await rm(folder, { recursive: true, force: true });
    },
  };
}

export type TimeStampingService = Awaited<ReturnType<typeof startTimeStampingService>>;
