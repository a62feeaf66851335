/** `source` for the packages of this repository, so that tests need no build; the rest are Vite's own. */
const resolve = { conditions: ['source', 'module', 'node', 'development|production'] };

/** Has tests, and what is set up once for all of them, find the packages by their sources. */
export const PACKAGES_BY_SOURCE = { environments: { ssr: { resolve }, __vitest__: { resolve } } };
