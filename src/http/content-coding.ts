import { brotliDecompressSync, inflateRawSync, unzipSync } from 'node:zlib';

export const ACCEPT_ENCODING = 'gzip, br, deflate';

/** Protects against decompression bombs. curl has the same limit. */
const MAX_CODINGS = 5;

export class TooLargeError extends Error {
  override readonly name = 'TooLargeError';
}

type Decoder = (body: Buffer, options: { readonly maxOutputLength: number }) => Buffer;

const DECODERS: ReadonlyMap<string, Decoder> = new Map<string, Decoder>([
  ['identity', (body) => body],
  ['gzip', unzipSync],
  ['x-gzip', unzipSync],
  ['br', brotliDecompressSync],
  ['deflate', inflate],
]);

/** Some servers send `deflate` without the zlib wrapper (RFC 9110, section 8.4.1.2). */
function inflate(body: Buffer, options: { readonly maxOutputLength: number }): Buffer {
  try {
    return unzipSync(body, options);
  } catch (error) {
    if (isOutputTooLarge(error)) throw error;
    return inflateRawSync(body, options);
  }
}

/**
 * Decodes content codings (RFC 9110, section 8.4), starting with the last.
 * @returns undefined for a truncated or damaged body, or an unknown coding
 * @throws {TooLargeError} if the output of any step exceeds `maxBytes`
 */
export function decodeContent(
  body: Buffer,
  headers: Readonly<Record<string, string | string[] | undefined>>,
  maxBytes: number,
): Buffer | undefined {
  const parts = [headers['content-encoding'] ?? []].flat().join(',').toLowerCase().split(',');
  const codings = parts.map((coding) => coding.trim()).filter((coding) => coding !== '');
  // A response without a body can still have the header.
  if (codings.length === 0 || body.length === 0) return body;
  if (codings.length > MAX_CODINGS) return undefined;
  let decoded = body;
  try {
    for (const coding of codings.reverse()) {
      const decode = DECODERS.get(coding);
      if (decode === undefined) return undefined;
      decoded = decode(decoded, { maxOutputLength: maxBytes });
    }
    return decoded;
  } catch (error) {
    if (isOutputTooLarge(error)) throw new TooLargeError();
    return undefined;
  }
}

function isOutputTooLarge(error: unknown): boolean {
  return error instanceof RangeError && 'code' in error && error.code === 'ERR_BUFFER_TOO_LARGE';
}
