/** Finds the packages of this repository by their sources, so that tests need no build; the rest are Vite's own. */
export const SOURCE_CONDITIONS = ['source', 'module', 'node', 'development|production'];
