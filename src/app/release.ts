import { readFileSync } from 'node:fs';
import { z } from 'zod';

/** `package.json` has the same relative path from `src` and `dist`. */
export const RELEASE = z
  .object({ version: z.string() })
  .parse(JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'))).version;
