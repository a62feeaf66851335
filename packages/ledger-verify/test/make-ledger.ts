import { createHash, generateKeyPairSync, type KeyObject, sign } from 'node:crypto';

/*
 * Creates ledgers and receipts from the definition of their format, without the verifier's code.
 */

export interface Event {
  readonly type: 'event';
  readonly seq: number;
  readonly [member: string]: unknown;
}

export interface Seal {
  readonly type: 'seal';
  readonly n: number;
  readonly from: number;
  readonly to: number;
  readonly [member: string]: unknown;
}

export function sha256(...parts: readonly (string | Uint8Array)[]): Buffer {
  const hash = createHash('sha256');
  for (const part of parts) hash.update(part);
  return hash.digest();
}

/** Canonical JSON (RFC 8785) of simple values. */
export function canonicalize(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalize).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${canonicalize(member)}`).join(',')}}`;
}

export function hashLeaf(event: Event): Buffer {
  const leaf = event['leaf'];
  return typeof leaf === 'string' ? Buffer.from(leaf, 'hex') : sha256(Uint8Array.of(0), canonicalize(event));
}

/** The largest power of two below a number. */
function findSplit(size: number): number {
  let split = 1;
  while (split * 2 < size) split *= 2;
  return split;
}

/** MTH of RFC 6962. */
function computeTreeHead(leaves: readonly Buffer[]): Buffer {
  const [onlyLeaf] = leaves;
  if (onlyLeaf === undefined) return sha256('');
  if (leaves.length === 1) return onlyLeaf;
  const split = findSplit(leaves.length);
  return sha256(
    Uint8Array.of(1),
    computeTreeHead(leaves.slice(0, split)),
    computeTreeHead(leaves.slice(split)),
  );
}

/** PATH of RFC 6962. */
export function buildPath(index: number, leaves: readonly Buffer[]): Buffer[] {
  if (leaves.length <= 1) return [];
  const split = findSplit(leaves.length);
  const [left, right] = [leaves.slice(0, split), leaves.slice(split)];
  return index < split
    ? [...buildPath(index, left), computeTreeHead(right)]
    : [...buildPath(index - split, right), computeTreeHead(left)];
}

export interface Signer {
  readonly privateKey: KeyObject;
  readonly fingerprint: string;
  readonly spki: Buffer;
}

export function makeSigner(): Signer {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519');
  const spki = publicKey.export({ format: 'der', type: 'spki' });
  return { privateKey, spki, fingerprint: `SHA256:${sha256(spki).toString('base64url')}` };
}

export function hashSeal(seal: Seal | undefined): string {
  return (seal === undefined ? sha256('') : sha256(canonicalize(seal))).toString('hex');
}

export function makeSeal(signer: Signer, previousSeal: Seal | undefined, events: readonly Event[]): Seal {
  const n = (previousSeal?.n ?? 0) + 1;
  const unsigned = {
    ...{ type: 'seal' as const, n, from: events[0]?.seq ?? 0, to: events.at(-1)?.seq ?? 0 },
    root: computeTreeHead(events.map(hashLeaf)).toString('hex'),
    prev: hashSeal(previousSeal),
    at: new Date(Date.UTC(2026, 10, 1, 12) + n * 60_000).toISOString(),
  };
  const signature = sign(null, Buffer.from(canonicalize(unsigned)), signer.privateKey).toString('base64');
  return { ...unsigned, signature };
}

export type Line = { readonly type: string; readonly [member: string]: unknown };

function makeHeader(signer: Signer, otherFields: object = {}): Line {
  return {
    type: 'ledger',
    version: 1,
    key: signer.fingerprint,
    public: signer.spki.toString('base64'),
    ...otherFields,
  };
}

export interface Ledger {
  readonly signer: Signer;
  readonly lines: readonly Line[];
  readonly events: readonly Event[];
  readonly seals: readonly Seal[];
}

/** @param sealSizes the number of events in each seal */
export function makeLedger(
  events: readonly Event[],
  sealSizes: Iterable<number>,
  signer = makeSigner(),
): Ledger {
  const lines: Line[] = [makeHeader(signer)];
  const seals: Seal[] = [];
  let sealedCount = 0;
  for (const size of sealSizes) {
    const sealedEvents = events.slice(sealedCount, sealedCount + size);
    if (sealedEvents.length === 0) break;
    const seal = makeSeal(signer, seals.at(-1), sealedEvents);
    seals.push(seal);
    lines.push(...sealedEvents, seal);
    sealedCount += size;
  }
  return { signer, lines, events: events.slice(0, sealedCount), seals };
}

export const STATEMENT = {
  version: 1,
  order: 'zr0gsgvnnxvt',
  task: 'renew',
  items: [{ n: 1, name: 'cafe.rest' }],
};

/** Creates a receipt of an order's events. @param isAdditional selects additional events */
export function makeReceipt(
  { signer, events, seals }: Ledger,
  orderId: string,
  isAdditional: (event: Event) => boolean = () => false,
): Line[] {
  const receiptEvents = events.filter(
    (event) => isAdditional(event) || canonicalize(event).includes(`"id":"${orderId}"`),
  );
  const proofs = receiptEvents.map((event) => {
    const seal = seals.find(({ to }) => to >= event.seq);
    if (seal === undefined) throw new Error(`event ${event.seq} is not sealed`);
    const leaves = events.slice(seal.from - 1, seal.to).map(hashLeaf);
    const index = event.seq - seal.from;
    const path = buildPath(index, leaves).map((hash) => hash.toString('hex'));
    return { seal, line: { type: 'path', seq: event.seq, seal: seal.n, index, size: leaves.length, path } };
  });
  return [
    makeHeader(signer, { type: 'receipt', order: orderId }),
    { type: 'statement', statement: STATEMENT },
    ...receiptEvents,
    ...proofs.map(({ line }) => line),
    ...new Set(proofs.map(({ seal }) => seal)),
  ];
}

export function formatLines(lines: readonly Line[]): string {
  return lines.map((line) => `${JSON.stringify(line)}\n`).join('');
}
