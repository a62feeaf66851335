import { isJsonObject, type Json, type JsonObject } from './canonical-json.ts';

/** @throws {TypeError} if a line isn't UTF-8 */
export async function* splitLines(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
  let incompleteLine = '';
  for await (const chunk of chunks) {
    const lines = (incompleteLine + decoder.decode(chunk, { stream: true })).split('\n');
    incompleteLine = lines.pop() ?? '';
    yield* lines;
  }
  incompleteLine += decoder.decode();
  if (incompleteLine !== '') yield incompleteLine;
}

/** @returns undefined if the line isn't an object, or if other parsers could read it differently */
export function parseObject(line: string): JsonObject | undefined {
  try {
    const value: Json = JSON.parse(line);
    if (!isJsonObject(value)) return undefined;
    if (JSON.stringify(value) === line) return value;
    return hasDuplicateMember(line) || hasInfinity(value) ? undefined : value;
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

const JSON_TOKEN = /"(?:[^"\\]|\\.)*"|[{}[\],:]/g;

function hasDuplicateMember(text: string): boolean {
  const memberNameStack: (Set<string> | undefined)[] = [];
  let previousToken = '';
  for (const [token] of text.matchAll(JSON_TOKEN)) {
    if (token === '{' || token === '[') memberNameStack.push(token === '{' ? new Set() : undefined);
    else if (token === '}' || token === ']') memberNameStack.pop();
    else if (token === ':') {
      const name: string = JSON.parse(previousToken);
      const names = memberNameStack.at(-1);
      if (names?.has(name) === true) return true;
      names?.add(name);
    }
    previousToken = token;
  }
  return false;
}
