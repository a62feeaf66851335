import { createRequire } from 'node:module';
import { dirname } from 'node:path';

/** The folder of the built page. The path is the same for source and build. */
export const pageDir: string = dirname(createRequire(import.meta.url).resolve('#page/index.html'));
