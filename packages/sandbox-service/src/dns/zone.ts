import type { Answer } from 'dns-packet';

export type SandboxRecordType =
  | 'A'
  | 'AAAA'
  | 'CAA'
  | 'CDNSKEY'
  | 'CDS'
  | 'CNAME'
  | 'DNSKEY'
  | 'DS'
  | 'MX'
  | 'NS'
  | 'RRSIG'
  | 'SOA'
  | 'TXT';

export type SandboxRecord = Exclude<Answer, { readonly type: 'OPT' }> & { readonly type: string };

const TTL_SECONDS = 60;

/**
 * Parses one line of a zone: owner, type and value, as in a zone file (RFC 1035, section 5). `@` is the zone itself.
 * @param line such as `www A 192.0.2.1`, `@ MX 10 mail.cafe.rest` or `@ TXT "v=spf1 -all"`
 * @throws Error if the line is invalid
 */
export function parseRecord(zone: string, line: string): SandboxRecord {
  const [, owner = '', type = '', value = ''] = /^(\S+)\s+(\S+)\s+(.+)$/.exec(line.trim()) ?? [];
  const ownerName = owner.toLowerCase();
  const name =
    ownerName === '@'
      ? zone
      : ownerName === zone || ownerName.endsWith(`.${zone}`)
        ? ownerName
        : `${ownerName}.${zone}`;
  const record = buildRecord(name, type, value.trim());
  if (record === undefined) throw new Error(`invalid line of a sandbox zone: “${line}”`);
  return record;
}

function buildRecord(name: string, type: string, value: string): SandboxRecord | undefined {
  const base = { name, ttl: TTL_SECONDS, class: 'IN' } as const;
  const words = value.split(/\s+/);
  const [first = '', second = '', third = ''] = words;
  switch (type) {
    case 'A':
    case 'AAAA':
    case 'CNAME':
    case 'NS':
      return { ...base, type, data: value };
    case 'MX':
      return { ...base, type, data: { preference: Number(first), exchange: second } };
    case 'TXT': {
      const strings = [...value.matchAll(/"([^"]*)"/g)].map(([, text = '']) => Buffer.from(text));
      return { ...base, type, data: strings.length > 0 ? strings : [Buffer.from(value)] };
    }
    case 'CAA':
      return second === 'issue' || second === 'issuewild' || second === 'iodef'
        ? { ...base, type, data: { flags: Number(first), tag: second, value: third.replaceAll('"', '') } }
        : undefined;
    case 'DS': {
      const digest = Buffer.from(words.slice(3).join(''), 'hex');
      const [keyTag, algorithm, digestType] = [Number(first), Number(second), Number(third)];
      return { ...base, type, data: { keyTag, algorithm, digestType, digest } };
    }
    case 'DNSKEY': {
      const key = Buffer.from(words.slice(3).join(''), 'base64');
      return { ...base, type, data: { flags: Number(first), algorithm: Number(third), key } };
    }
    case 'CDS':
    case 'CDNSKEY': {
      const header = Buffer.alloc(4);
      header.writeUInt16BE(Number(first), 0);
      header.writeUInt8(Number(second), 2);
      header.writeUInt8(Number(third), 3);
      const data = Buffer.from(words.slice(3).join(''), type === 'CDS' ? 'hex' : 'base64');
      return { ...base, type, data: Buffer.concat([header, data]) };
    }
    case 'RRSIG': {
      const [algorithm = 0, labels = 0, originalTTL = 0, expiration = 0, inception = 0, keyTag = 0] = words
        .slice(1, 7)
        .map(Number);
      const [signersName = name, ...rest] = words.slice(7);
      const signature = Buffer.from(rest.join(''), 'base64');
      const data = { algorithm, labels, originalTTL, expiration, inception, keyTag, signersName, signature };
      return { ...base, type, data: { typeCovered: first, ...data } };
    }
    case 'SOA':
      return { ...base, type, data: { mname: first, rname: second, serial: Number(third), minimum: 60 } };
    default:
      return undefined;
  }
}

export function createDefaultSoa(zone: string, primary: string): SandboxRecord {
  return {
    name: zone,
    ttl: TTL_SECONDS,
    class: 'IN',
    type: 'SOA',
    data: {
      mname: primary,
      rname: `hostmaster.${zone}`,
      serial: 1,
      refresh: 3600,
      retry: 600,
      expire: 86_400,
      minimum: 60,
    },
  };
}

/** Creates signatures for a zone with a DNSKEY, valid from 2020 to 2060. Their signature value is a dummy. */
export function createDefaultSignatures(zone: string): SandboxRecord[] {
  return ['DNSKEY', 'SOA'].map((type) =>
    parseRecord(zone, `@ RRSIG ${type} 13 2 ${TTL_SECONDS} 2840140800 1577836800 1 ${zone} c2lnbmVk`),
  );
}

export function createNsRecord(zone: string, host: string): SandboxRecord {
  return { name: zone, ttl: TTL_SECONDS, class: 'IN', type: 'NS', data: host };
}

/** The NSEC record proves that a delegation has no DS (RFC 4035, section 3.1.4.1). */
export function createMissingDsProof(name: string): SandboxRecord {
  return {
    name,
    ttl: TTL_SECONDS,
    class: 'IN',
    type: 'NSEC',
    data: { nextDomain: `\\000.${name}`, rrtypes: ['NS', 'NSEC', 'RRSIG'] },
  };
}

export function createAddressRecord(name: string, address: string): SandboxRecord {
  return { name, ttl: TTL_SECONDS, class: 'IN', type: 'A', data: address };
}

export function isWithin(name: string, zone: string): boolean {
  return name === zone || name.endsWith(`.${zone}`);
}
