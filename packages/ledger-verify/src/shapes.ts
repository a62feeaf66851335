import { type Bytes, decodeBase64, decodeHash } from './bytes.ts';
import { isJsonObject, type Json, type JsonObject, toCanonicalJson } from './canonical-json.ts';

/* Lines of a ledger or receipt. A line with missing or unknown members is invalid. */

export interface Header {
  readonly kind: 'ledger' | 'receipt';
  /** Fingerprint of the key that signs seals. */
  readonly key: string;
  /** In SPKI format. */
  readonly publicKey: Bytes;
  /** Set only in receipts. */
  readonly order: string | undefined;
}

export interface Erasure {
  readonly at: string;
  readonly by: string;
}

export interface EventLine {
  readonly type: 'event';
  readonly seq: number;
  /** Undefined if the content was deleted. */
  readonly content: JsonObject | undefined;
  readonly erasure: Erasure | undefined;
  /** The stored hash of content that was deleted. */
  readonly leaf: Bytes | undefined;
}

export interface SealLine {
  readonly type: 'seal';
  readonly n: number;
  readonly from: number;
  readonly to: number;
  readonly root: string;
  readonly prev: string;
  readonly at: string;
  readonly signature: Bytes;
  readonly canonicalText: string;
  readonly signedText: string;
}

export interface PathLine {
  readonly type: 'path';
  readonly seq: number;
  readonly seal: number;
  readonly index: number;
  readonly size: number;
  readonly path: readonly Bytes[];
}

export interface StatementLine {
  readonly type: 'statement';
  /** Undefined if the bot no longer has it. */
  readonly statement: JsonObject | undefined;
  /** If there is no statement: the SHA-256 of its canonical form in hex, according to the bot. */
  readonly hash: string | undefined;
}

/** The bot's record that a seal was published. It proves nothing, because the bot wrote the file. */
export interface AnchorLine {
  readonly type: 'anchor';
  readonly n: number;
  readonly hash: string;
}

export type Line = EventLine | SealLine | PathLine | StatementLine | AnchorLine;

function isCount(value: Json | undefined): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;
}

function hasExactMembers(object: JsonObject, names: readonly string[]): boolean {
  return Object.keys(object).length === names.length && names.every((name) => Object.hasOwn(object, name));
}

/** @returns `version` if the version isn't supported, undefined if the object isn't a header */
export function parseHeader(object: JsonObject): Header | 'version' | undefined {
  const { type, version, key, public: spki, order } = object;
  if (type !== 'ledger' && type !== 'receipt') return undefined;
  if (isCount(version) && version !== 1) return 'version';
  const names = ['type', 'version', 'key', 'public', ...(type === 'receipt' ? ['order'] : [])];
  const publicKey = decodeBase64(spki);
  if (!hasExactMembers(object, names) || version !== 1 || typeof key !== 'string' || publicKey === undefined)
    return undefined;
  if (type === 'receipt' && typeof order !== 'string') return undefined;
  return { kind: type, key, publicKey, order: typeof order === 'string' ? order : undefined };
}

export function parseLine(object: JsonObject): Line | undefined {
  switch (object['type']) {
    case 'event':
      return parseEventLine(object);
    case 'seal':
      return parseSealLine(object);
    case 'path':
      return parsePathLine(object);
    case 'statement': {
      const { statement, hash } = object;
      if (hasExactMembers(object, ['type', 'statement']) && isJsonObject(statement))
        return { type: 'statement', statement, hash: undefined };
      return hasExactMembers(object, ['type', 'hash']) && decodeHash(hash) !== undefined
        ? { type: 'statement', statement: undefined, hash: String(hash) }
        : undefined;
    }
    case 'anchor': {
      const { n, hash } = object;
      return isCount(n) && decodeHash(hash) !== undefined
        ? { type: 'anchor', n, hash: String(hash) }
        : undefined;
    }
    default:
      return undefined;
  }
}

function parseEventLine(object: JsonObject): EventLine | undefined {
  const { seq, forgotten, leaf } = object;
  if (!isCount(seq) || seq === 0) return undefined;
  if (forgotten === undefined) {
    const names = ['type', 'seq', 'at', 'kind', 'subject', 'actor', 'data'];
    if (!hasExactMembers(object, names)) return undefined;
    return { type: 'event', seq, content: object, erasure: undefined, leaf: undefined };
  }
  const hash = decodeHash(leaf);
  if (!hasExactMembers(object, ['type', 'seq', 'forgotten', 'leaf']) || hash === undefined) return undefined;
  if (!isJsonObject(forgotten) || !hasExactMembers(forgotten, ['at', 'by'])) return undefined;
  const { at, by } = forgotten;
  if (typeof at !== 'string' || typeof by !== 'string') return undefined;
  return { type: 'event', seq, content: undefined, erasure: { at, by }, leaf: hash };
}

function parseSealLine(object: JsonObject): SealLine | undefined {
  const { n, from, to, root, prev, at, signature, ...others } = object;
  if (Object.keys(others).length !== 1 || !isCount(n) || n === 0 || !isCount(from) || !isCount(to))
    return undefined;
  const signatureBytes = decodeBase64(signature);
  if (from === 0 || to < from || signatureBytes === undefined || typeof at !== 'string') return undefined;
  if (decodeHash(root) === undefined || decodeHash(prev) === undefined) return undefined;
  const { signature: _, ...unsigned } = object;
  return {
    type: 'seal',
    n,
    from,
    to,
    root: String(root),
    prev: String(prev),
    at,
    signature: signatureBytes,
    canonicalText: toCanonicalJson(object),
    signedText: toCanonicalJson(unsigned),
  };
}

function parsePathLine(object: JsonObject): PathLine | undefined {
  const { seq, seal, index, size, path } = object;
  if (!hasExactMembers(object, ['type', 'seq', 'seal', 'index', 'size', 'path']) || !Array.isArray(path))
    return undefined;
  const hashes = path.flatMap((hash) => decodeHash(hash) ?? []);
  if (!isCount(seq) || !isCount(seal) || !isCount(index) || !isCount(size) || hashes.length !== path.length)
    return undefined;
  return { type: 'path', seq, seal, index, size, path: hashes };
}
