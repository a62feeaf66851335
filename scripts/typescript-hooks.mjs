import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { transform } from 'rolldown/utils';

/** Node's module hook: resolves the repository's packages to their sources. */
export function resolve(specifier, context, nextResolve) {
  return nextResolve(specifier, { ...context, conditions: ['source', ...context.conditions] });
}

/** Node's module hook: strips the types of a TypeScript file. */
export async function load(url, context, nextLoad) {
  if (!url.startsWith('file:') || !url.endsWith('.ts')) return nextLoad(url, context);
  const path = fileURLToPath(url);
  const { code, errors } = await transform(path, await readFile(path, 'utf8'), { sourcemap: false });
  if (errors.length > 0) throw new SyntaxError(`${path}: ${errors[0].message}`);
  return { format: 'module', source: code, shortCircuit: true };
}
