import { readFileSync } from 'node:fs';
import { createServer } from 'node:https';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { domainDelete, domainRenew } from '../../src/service/tasks/domain.ts';
import { startChild } from '../support/child.ts';
import { createTestClient, getServiceError, passwordCredential } from './clients.ts';
import { OK_JSON } from './raw-service.ts';

/*
 * The client trusts Node's certificate authorities. An operator adds another one with NODE_EXTRA_CA_CERTS, which a
 * process reads at its start, so a child process makes the calls that trust the test's authority.
 */

const fixture = (name: string): string => fileURLToPath(new URL(`../support/tls/${name}`, import.meta.url));

const requests: string[] = [];
const server = createServer(
  { key: readFileSync(fixture('tls-test-key.pem')), cert: readFileSync(fixture('tls-test-cert.pem')) },
  (request, response) => {
    requests.push(`${request.method} ${request.url}`);
    response.end(OK_JSON);
  },
);
let port = 0;

beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the server has no port');
  port = address.port;
});
afterEach(() => {
  requests.length = 0;
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});

describe('over TLS', () => {
  it('a service with a trusted authority is called, but only by the name in its certificate', async () => {
    const child = startChild(new URL('../support/children/tls-client.ts', import.meta.url), {
      args: [`https://localhost:${port}/v1`, `https://127.0.0.1:${port}/v1`],
      env: { NODE_EXTRA_CA_CERTS: fixture('tls-test-ca.pem') },
    });
    expect(await child.ended, child.output()).toBe(0);
    expect(child.output().trim().split('\n')).toEqual([
      'renew localhost: HTTP 200',
      'delete localhost: HTTP 200',
      'renew 127.0.0.1: not_sent ERR_TLS_CERT_ALTNAME_INVALID',
      'delete 127.0.0.1: not_sent ERR_TLS_CERT_ALTNAME_INVALID',
    ]);
    expect(requests, 'requests, none to a name that isn’t in the certificate').toEqual([
      'POST /v1/domain/cafe.rest/_renew',
      'DELETE /v1/domain/cafe.rest',
    ]);
  });

  it('nothing is sent to a service with an untrusted authority', async () => {
    const client = createTestClient(`https://localhost:${port}`, passwordCredential);
    const errors = [
      await getServiceError(client.run(domainRenew, { name: 'cafe.rest', period: 1 })),
      await getServiceError(client.run(domainDelete, { name: 'cafe.rest' })),
    ];
    await client.close();
    expect(errors.map(({ kind }) => kind)).toEqual(['not_sent', 'not_sent']);
    expect(errors[0]?.cause).toMatchObject({ code: 'UNABLE_TO_VERIFY_LEAF_SIGNATURE' });
    expect(requests).toEqual([]);
  });
});
