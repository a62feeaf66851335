import type { IncomingMessage } from 'node:http';
import type { Claim } from './access.ts';
import type { Answer } from './answer.ts';
import { Refusal } from './refusal.ts';
import type { SandboxTask } from './tasks.ts';

export interface ReceivedRequest {
  readonly method: string;
  /** As sent: percent-encoded, without the query. */
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: IncomingMessage['headers'];
  readonly body: Uint8Array;
}

/** A request that an interface has parsed. `run` carries it out or returns a refusal. */
export interface RequestPlan {
  readonly task: SandboxTask | null;
  /** The domain, redirect source, contact id or user that the request is about. */
  readonly name: string | null;
  readonly claim: Claim | null;
  /** The body for the log, parsed if possible, with secrets masked. */
  readonly loggedBody: unknown;
  readonly run: () => Answer;
}

const MAX_BODY_BYTES = 1024 * 1024;

/**
 * @throws {Refusal} 413 if the body is longer than 1 MB
 * @throws the connection's error if it closes before the body ends
 */
export async function readBody(request: IncomingMessage): Promise<Uint8Array> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request) {
    if (!Buffer.isBuffer(chunk)) continue;
    size += chunk.length;
    if (size > MAX_BODY_BYTES) throw new Refusal('malformed', 'the body is larger than 1 MB', 413);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/** @throws {Refusal} 400 if the body isn't UTF-8 */
export function decodeBody(body: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(body);
  } catch {
    throw new Refusal('malformed', 'the body is not UTF-8');
  }
}

/** @throws {Refusal} 415 unless the content type is one of `types`; UTF-8 is the only charset allowed */
export function checkContentType(incoming: ReceivedRequest, allowedTypes: readonly string[]): void {
  const [type = '', ...parameters] = (incoming.headers['content-type'] ?? '').toLowerCase().split(/\s*;\s*/);
  if (
    !allowedTypes.includes(type) ||
    parameters.some((parameter) => !/^charset="?utf-8"?$/.test(parameter))
  ) {
    throw new Refusal('malformed', `content-type: must be ${allowedTypes.join(' or ')}`, 415);
  }
}
