import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import http, { type RequestListener, type Server } from 'node:http';
import https from 'node:https';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startChild } from '../../support/child.ts';
import { REGISTRY_CA_ENV } from '../../support/registry.ts';

/* A response is secure if the list of registries, each redirect and the record came over https. */

const fixture = (name: string): string =>
  fileURLToPath(new URL(`../../support/tls/${name}`, import.meta.url));

const RECORD = {
  objectClassName: 'domain',
  ldhName: 'cafe.rest',
  events: [{ eventAction: 'expiration', eventDate: '2027-03-01T12:00:00Z' }],
};
/** The registry's address in each bootstrap file. */
const REGISTRIES: Readonly<Record<string, () => string>> = {
  '/to-secure': () => `${secure()}/rdap/`,
  '/to-plain': () => `${plain()}/rdap/`,
  '/to-moved': () => `${plain()}/moved/`,
  '/to-none': () => `${secure()}/none/`,
};

const answer: RequestListener = ({ url = '' }, response) => {
  const registry = REGISTRIES[url];
  if (url.startsWith('/moved/')) {
    response.writeHead(302, { location: `${secure()}/rdap/domain/cafe.rest` }).end();
  } else if (url.startsWith('/none/')) response.writeHead(404).end('{}');
  else
    response.end(JSON.stringify(registry === undefined ? RECORD : { services: [[['rest'], [registry()]]] }));
};

const servers = {
  plain: http.createServer(answer),
  secure: https.createServer(
    { key: readFileSync(fixture('tls-test-key.pem')), cert: readFileSync(fixture('tls-test-cert.pem')) },
    answer,
  ),
};
const plain = () => `http://localhost:${portOf(servers.plain)}`;
const secure = () => `https://localhost:${portOf(servers.secure)}`;

function portOf(server: Server | https.Server): number {
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the server has no port');
  return address.port;
}

beforeAll(async () => {
  for (const server of Object.values(servers)) {
    server.listen(0);
    await once(server, 'listening');
  }
});
afterAll(() => {
  for (const server of Object.values(servers)) {
    server.closeAllConnections();
    server.close();
  }
});

/** Looks up a name through each bootstrap file. @returns a line per result */
async function lookUpThrough(...bootstrapUrls: string[]): Promise<string[]> {
  const child = startChild(new URL('../../support/children/rdap-client.ts', import.meta.url), {
    args: bootstrapUrls,
    env: REGISTRY_CA_ENV,
  });
  expect(await child.ended, child.output()).toBe(0);
  return child.output().trim().split('\n');
}

test('a lookup that uses only https is secure', async () => {
  const server = new URL(secure()).host;
  expect(await lookUpThrough(`${secure()}/to-secure`, `${secure()}/to-none`)).toEqual([
    `/to-secure answered secure: true from ${server}`,
    `/to-none not_found secure: true from ${server}`,
  ]);
});

test('a lookup that uses plain http at any step is not secure', async () => {
  const [withPlainList, plainRecord, throughPlain, plainNone] = await lookUpThrough(
    `${plain()}/to-secure`,
    `${secure()}/to-plain`,
    `${secure()}/to-moved`,
    `${plain()}/to-none`,
  );
  expect(withPlainList, 'the list of registries').toMatch(/answered secure: false/);
  expect(plainRecord, 'the record').toMatch(/answered secure: false/);
  expect(throughPlain, 'a redirect from http to https').toMatch(/answered secure: false/);
  expect(plainNone).toMatch(/not_found secure: false/);
});
