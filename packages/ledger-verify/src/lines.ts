import type { Json, JsonObject } from './canonical-json.ts';
import { isJsonObject } from './canonical-json.ts';

/**
 * The lines of a stream, without line breaks.
 * @throws {TypeError} if it isn't UTF-8
 */
export async function* linesOf(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
  let rest = '';
  for await (const piece of pieces) {
    const lines = (rest + decoder.decode(piece, { stream: true })).split('\n');
    rest = lines.pop() ?? '';
    yield* lines;
  }
  rest += decoder.decode();
  if (rest !== '') yield rest;
}

/**
 * Parses the object on a line.
 * @returns undefined if there is none, or if parsers could read it differently
 */
export function readObject(line: string): JsonObject | undefined {
  try {
    const value: Json = JSON.parse(line);
    if (!isJsonObject(value)) return undefined;
    if (JSON.stringify(value) === line) return value;
    return hasDoubledMember(line) || hasInfinity(value) ? undefined : value;
  } catch {
    return undefined;
  }
}

/** Whether a number is out of range, such as `1e400`. Its canonical form would be `null`. */
function hasInfinity(value: Json): boolean {
  return typeof value === 'object' && value !== null
    ? Object.values(value).some(hasInfinity)
    : typeof value === 'number' && !Number.isFinite(value);
}

const TOKEN = /"(?:[^"\\]|\\.)*"|[{}[\],:]/g;

function hasDoubledMember(text: string): boolean {
  const open: (Set<string> | undefined)[] = [];
  let last = '';
  for (const [token] of text.matchAll(TOKEN)) {
    if (token === '{' || token === '[') open.push(token === '{' ? new Set() : undefined);
    else if (token === '}' || token === ']') open.pop();
    else if (token === ':') {
      const name: string = JSON.parse(last);
      const names = open.at(-1);
      if (names?.has(name) === true) return true;
      names?.add(name);
    }
    last = token;
  }
  return false;
}
