import { readFileSync } from 'node:fs';
import { z } from 'zod';

const manifest = z.object({ scripts: z.object({ start: z.string() }) });

function startOptions(): readonly string[] {
  const file = new URL('../../package.json', import.meta.url);
  const { scripts } = manifest.parse(JSON.parse(readFileSync(file, 'utf8')));
  return scripts.start.split(' ').filter((word) => word.startsWith('--'));
}

/** The options of `npm start` for Node, so that tests and the bench run the bot as users do. */
export const RELEASED_OPTIONS: readonly string[] = startOptions();
