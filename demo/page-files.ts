import { createRequire } from 'node:module';
import { dirname } from 'node:path';

/** Folder of the built page, for `startWorkspace({ pageDir })`; the same whether this runs as source or built. */
export const pageDir: string = dirname(createRequire(import.meta.url).resolve('#page/index.html'));
