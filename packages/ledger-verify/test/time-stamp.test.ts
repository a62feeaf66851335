import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, describe, expect, it } from 'vitest';
import type { Cryptography } from '../src/cryptography.ts';
import { nodeCryptography, verify } from '../src/index.ts';
import { webCryptography } from '../src/web-cryptography.ts';
import { hashOfSeal, makeLedger, makeReceipt, STATEMENT, sha256, textOf } from './make-ledger.ts';

/* Time stamps that OpenSSL has made: as a service (`openssl ts`), and what no service would make (`openssl cms`). */

const folder = mkdtempSync(join(tmpdir(), 'stamps-'));
afterAll(() => rmSync(folder, { recursive: true }));
const openssl = (...args: readonly string[]) =>
  execFileSync('openssl', args, { cwd: folder, stdio: ['ignore', 'pipe', 'pipe'] });
const file = (name: string) => readFileSync(join(folder, name));

writeFileSync(
  join(folder, 'openssl.cnf'),
  `[req]
distinguished_name = name
[name]
[stamps]
extendedKeyUsage = critical, timeStamping
[not_critical]
extendedKeyUsage = timeStamping
[more]
extendedKeyUsage = critical, timeStamping, codeSigning
[none]
keyUsage = critical, digitalSignature
[tsa]
serial = serial
signer_digest = sha256
default_policy = 1.2.3.4.1
digests = sha256
ess_cert_id_alg = sha256
[old]
serial = serial
signer_digest = sha512
default_policy = 1.2.3.4.1
digests = sha256
ess_cert_id_alg = sha1
`,
);

interface Signer {
  readonly name: string;
  readonly certificate: Buffer;
  readonly fingerprint: string;
}

/** A key with a certificate. @param key as OpenSSL names it */
function signer(name: string, key: readonly string[] = ['rsa:2048'], usage = 'stamps'): Signer {
  openssl(
    ...['req', '-x509', '-nodes', '-newkey', ...key, '-config', 'openssl.cnf', '-extensions', usage],
    ...['-subj', `/O=Tests/CN=${name}`, '-set_serial', '7', '-days', '30'],
    ...['-keyout', `${name}.key`, '-out', `${name}.pem`],
  );
  openssl('x509', '-in', `${name}.pem`, '-outform', 'DER', '-out', `${name}.der`);
  const certificate = file(`${name}.der`);
  return { name, certificate, fingerprint: sha256(certificate).toString('hex') };
}

/** The token of a service over a hash. */
function stamp({ name }: Signer, hash: string, section = 'tsa'): Buffer {
  openssl('ts', '-query', '-digest', hash, '-sha256', '-cert', '-out', 'query');
  openssl(
    ...['ts', '-reply', '-config', 'openssl.cnf', '-section', section, '-queryfile', 'query'],
    ...['-signer', `${name}.pem`, '-inkey', `${name}.key`, '-token_out', '-out', 'token'],
  );
  return file('token');
}

function der(tag: number, ...contents: readonly Uint8Array[]): Buffer {
  const content = Buffer.concat(contents);
  return Buffer.concat([Buffer.of(tag, content.length), content]);
}

const SHA256 = der(0x30, Buffer.from('0609608648016503040201', 'hex'));

/** What a stamp says, signed as no service would. */
function forge({ name }: Signer, hash: string, at: string, ...options: readonly string[]): Buffer {
  const imprint = der(0x30, SHA256, der(0x04, Buffer.from(hash, 'hex')));
  const [one, policy] = [der(0x02, Buffer.of(1)), der(0x06, Buffer.of(0x2a, 3))];
  writeFileSync(join(folder, 'info'), der(0x30, one, policy, imprint, one, der(0x18, Buffer.from(at))));
  openssl(
    ...['cms', '-sign', '-cades', '-nodetach', '-binary', '-outform', 'DER', '-in', 'info', '-out', 'token'],
    ...['-econtent_type', '1.2.840.113549.1.9.16.1.4', '-signer', `${name}.pem`, '-inkey', `${name}.key`],
    ...['-md', 'sha256', ...options],
  );
  return file('token');
}

const statement = sha256(STATEMENT.order).toString('hex');
const event = {
  ...{ type: 'event' as const, seq: 1, at: '2026-11-25T13:00:00.000Z', kind: 'name_watched' },
  ...{ subject: { kind: 'order', id: STATEMENT.order }, actor: 'U0ALICE', data: {} },
};
const ledger = makeLedger([event], [1]);
const hash = hashOfSeal(ledger.seals[0]);

function check(
  token: Buffer,
  tsa: readonly string[] | undefined,
  cryptography: Cryptography = nodeCryptography,
) {
  const anchor = { type: 'anchor', n: 1, hash, at: event.at, timestamp: token.toString('base64') };
  const pieces = (async function* () {
    yield Buffer.from(textOf([...makeReceipt(ledger, STATEMENT.order), anchor]));
  })();
  return verify(pieces, { key: undefined, anchors: [], roots: undefined, tsa }, cryptography);
}

const service = signer('Stamps of tests');
const token = stamp(service, hash);
const now = `${new Date().toISOString().slice(0, 19).replaceAll(/[-:T]/g, '')}Z`;
const ec = (curve: string) => ['ec', '-pkeyopt', `ec_paramgen_curve:${curve}`];
const pss = ['-keyopt', 'rsa_padding_mode:pss', '-keyopt', 'rsa_pss_saltlen:32'];

it.each<[how: string, by: Signer, made: Buffer]>([
  ['RSA', service, token],
  ['RSA with SHA-512, and its certificate named by SHA-1', service, stamp(service, hash, 'old')],
  ['RSA-PSS', service, forge(service, hash, now, ...pss)],
  ...['P-256', 'P-384'].map((curve): [string, Signer, Buffer] => {
    const by = signer(curve, ec(curve));
    return [curve, by, stamp(by, hash)];
  }),
])('verifies a stamp that was signed with %s, in Node and in browsers', async (_how, by, made) => {
  for (const cryptography of [nodeCryptography, webCryptography]) {
    const report = await check(made, [by.fingerprint], cryptography);
    expect(report.differences).toEqual([]);
    expect(report.stamped).toMatchObject({ seal: 1, to: 1 });
    expect(report.proved.join('\n')).toMatch(
      new RegExp(
        `Seal 1 was stamped by CN=${by.name}, certificate SHA-256 ${by.fingerprint}: event 1 stood so at 20\\d\\d-`,
      ),
    );
  }
});

it('counts for nothing while nobody has confirmed its certificate', async () => {
  const report = await check(token, undefined);
  expect(report).toMatchObject({ differences: [], stamped: undefined });
  expect(report.proved.join('\n')).not.toContain('stamped');
  expect(report.notes.join('\n')).toMatch(
    /A time stamp over seal 1 says that it was there at 20.*, stamped by CN=Stamps of tests, certificate SHA-256 .*, which nobody has confirmed/,
  );
});

/** The token with one byte changed, at a place in what it contains. */
function flipped(content: Uint8Array | string, at: number, from: Buffer = token): Buffer {
  const start = from.indexOf(content);
  if (start < 0) throw new Error('not in it');
  const copy = Buffer.from(from);
  copy.writeUInt8(copy.readUInt8(start + at) ^ 1, start + at);
  return copy;
}

const info = () => {
  openssl('cms', '-verify', '-noverify', '-inform', 'DER', '-in', 'whole', '-out', 'info');
  return file('info');
};
writeFileSync(join(folder, 'whole'), token);
const content = info();
const twin = signer('Stamps of twins');
const other = (name: string, usage: string) => forge(signer(name, ['rsa:2048'], usage), hash, now);

it.each<[what: string, fault: string, made: () => Buffer]>([
  ['in what it says', 'what it says is not what was signed', () => flipped(content, content.length - 3)],
  ['in its signed attributes', 'has not signed it', () => flipped(sha256(content), 5)],
  ['in its signature', 'the key of its certificate has not signed it', () => flipped(token.subarray(-9), 3)],
  ['in its certificate', 'is not in it', () => flipped(service.certificate, 200)],
  [
    'which is another certificate',
    'is not in it',
    () => {
      const start = token.indexOf(service.certificate);
      expect(twin.certificate).toHaveLength(service.certificate.length);
      const copy = Buffer.from(token);
      twin.certificate.copy(copy, start);
      return copy;
    },
  ],
  ['which is over something else', 'is over something else', () => stamp(service, statement)],
  ['whose certificate says nothing of stamps', 'not one for time stamps', () => other('None', 'none')],
  ['whose certificate is for more', 'not one for time stamps', () => other('More', 'more')],
  ['whose certificate does not insist', 'not one for time stamps', () => other('Lax', 'not_critical')],
  ['from before its certificate', 'not valid then', () => forge(service, hash, '20200101000000Z')],
  ['from after its certificate', 'not valid then', () => forge(service, hash, '20990101000000Z')],
  ['of a month that there is not', 'not valid then', () => forge(service, hash, '20261301000000Z')],
])('finds a stamp with something else %s', async (_what, fault, made) => {
  const changed = made();
  for (const tsa of [undefined, [service.fingerprint, twin.fingerprint]]) {
    const report = await check(changed, tsa);
    expect(report.differences.map(({ text }) => text).join('\n')).toContain(fault);
    expect(report).toMatchObject({ verdict: 'differs', stamped: undefined, proved: [] });
  }
});

it('finds a stamp of another service than those that are believed', async () => {
  expect((await check(stamp(twin, hash), [service.fingerprint])).differences).toEqual([
    { code: 'key', text: expect.stringContaining(`was stamped by CN=${twin.name}`) },
  ]);
});

describe('a stamp in a form that is not read', () => {
  const cut = token.subarray(0, 100);

  it('says nothing, which is all that there is to say while no service is believed', async () => {
    const report = await check(cut, undefined);
    expect(report.differences).toEqual([]);
    expect(report.notes.join('\n')).toContain('a form that this program does not read');
  });

  it('cannot be told by who believes a service', async () => {
    const report = await check(cut, [service.fingerprint]);
    expect(report).toMatchObject({ verdict: 'cannot_tell', stamped: undefined });
    expect(report.unknown.join('\n')).toContain('a form that this program does not read');
  });
});

it('never says another moment or another service, whichever byte of it is flipped', async () => {
  const good = await check(token, [service.fingerprint]);
  const said = ({ proved }: typeof good) => proved.filter((text) => text.includes('stamped'));
  await fc.assert(
    fc.asyncProperty(fc.nat(token.length - 1), fc.nat(7), async (at, bit) => {
      const copy = Buffer.from(token);
      copy.writeUInt8(copy.readUInt8(at) ^ (1 << bit), at);
      const report = await check(copy, [service.fingerprint]);
      expect(report.stamped === undefined ? good.stamped : report.stamped).toEqual(good.stamped);
      expect([[], said(good)]).toContainEqual(said(report));
    }),
    { numRuns: 400 },
  );
});
