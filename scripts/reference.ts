// Writes docs/reference.md from the commands and settings in the code: `npm run reference`.
import { writeFile } from 'node:fs/promises';
import { referencePage } from './reference/page.ts';

await writeFile(new URL('../docs/reference.md', import.meta.url), referencePage());
