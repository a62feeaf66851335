import { readFileSync } from 'node:fs';
import { z } from 'zod';

/** `package.json` is in the same place for `src` and `dist`. */
export const RELEASE = z
  .object({ version: z.string() })
  .parse(JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'))).version;
