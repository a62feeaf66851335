import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseAst } from 'rolldown/parseAst';
import { z } from 'zod';

/* Finds user-visible texts in the sources. */

const SRC = fileURLToPath(new URL('../../src', import.meta.url));

const node = z.looseObject({ type: z.string(), start: z.number(), end: z.number() });
const call = node.extend({ callee: node });
const property = node.extend({ key: node });
const literal = node.extend({ value: z.string() });
const template = node.extend({
  quasis: z.array(z.looseObject({ value: z.looseObject({ cooked: z.string() }) })),
});
type Node = z.output<typeof node>;

/** Doesn't use zod, which would take most of the run time. */
function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && 'type' in value && typeof value.type === 'string';
}

/** Calls and properties that aren't searched, by their source text. */
export interface Exemptions {
  readonly calls: RegExp;
  readonly properties: RegExp;
}

/** `log.warn(…)`, `new StoreError(…)`, `serviceError(…)` and similar calls. */
export const LOG_AND_ERROR_CALLS =
  /^(?:(?:\w+\.)*log(?:\.\w+|\[\w+\])|\w*Error|failure|super|compareAndSwap)$/;

function isExempt(source: string, at: Node, { calls, properties }: Exemptions): boolean {
  const isText = (part: Node, pattern: RegExp) => pattern.test(source.slice(part.start, part.end));
  if (at.type === 'Property') return isText(property.parse(at).key, properties);
  if (at.type !== 'CallExpression' && at.type !== 'NewExpression') return false;
  return isText(call.parse(at).callee, calls);
}

/** All syntax nodes of a source, except for exempt ones. */
export function listNodes(source: string, exempt: Exemptions): Node[] {
  const found: Node[] = [];
  const walk = (value: unknown): void => {
    if (Array.isArray(value)) value.forEach(walk);
    if (!isNode(value) || isExempt(source, value, exempt)) return;
    found.push(value);
    Object.values(value).forEach(walk);
  };
  walk(parseAst(source, { lang: 'ts' }));
  return found;
}

/** Each text of a source, with `…` for template expressions. */
function listTexts(source: string, exempt: Exemptions): string[] {
  return listNodes(source, exempt).flatMap((at) => {
    if (at.type === 'Literal') return literal.safeParse(at).data?.value ?? [];
    if (at.type !== 'TemplateLiteral') return [];
    return template
      .parse(at)
      .quasis.map(({ value }) => value.cooked)
      .join('…');
  });
}

/** Texts with at least this many words. */
export function listTextsWithWords(minWords: number, source: string, exempt: Exemptions): string[] {
  return listTexts(source, exempt).filter(
    (text) => text.split(/\s+/).filter((word) => /^\p{P}*\p{L}/u.test(word)).length >= minWords,
  );
}

/** The source files of a folder of `src`, relative to it. */
export function listFiles(folder: string): string[] {
  return readdirSync(join(SRC, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => `${folder}/${name}`)
    .sort();
}

/** The findings in files of `src`, each with its file's name. */
export function findInFiles(files: readonly string[], find: (source: string) => readonly string[]): string[] {
  return files.flatMap((file) =>
    find(readFileSync(join(SRC, file), 'utf8')).map((text) => `${file}: ${text}`),
  );
}
