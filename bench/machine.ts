import { readFile } from 'node:fs/promises';
import { availableParallelism, cpus, platform, release, totalmem } from 'node:os';
import { z } from 'zod';

const manifestSchema = z.object({ version: z.string() });
const PACKAGES = ['@slack/bolt', '@prisma/client', 'pg', 'pg-boss', 'undici', 'fast-xml-parser'];

/** @returns lines about the machine and the versions of dependencies */
export async function describeMachine(): Promise<readonly string[]> {
  const versions = await Promise.all(
    PACKAGES.map(async (name) => {
      const path = new URL(`../node_modules/${name}/package.json`, import.meta.url);
      return `${name} ${manifestSchema.parse(JSON.parse(await readFile(path, 'utf8'))).version}`;
    }),
  );
  const gib = (totalmem() / 2 ** 30).toFixed(0);
  return [
    `${availableParallelism()} × ${cpus()[0]?.model ?? 'unknown processor'}, ${gib} GiB, ${platform()} ${release()}`,
    `Node ${process.version}, embedded PostgreSQL with its usual (durable) settings, ${versions.join(', ')}`,
  ];
}
