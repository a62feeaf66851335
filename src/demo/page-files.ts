import { fileURLToPath } from 'node:url';

/** Folder of the built page, for `startWorkspace({ pageDir })`; the same whether this runs as source or built. */
export const pageDir: string = fileURLToPath(new URL('../../dist/demo/page', import.meta.url));
