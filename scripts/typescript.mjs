// Lets `node --import ./scripts/typescript.mjs file.ts` run the sources as they are, on Node versions that do
// not strip types themselves. For scripts and tests only: what is released is built.
import { register } from 'node:module';

if (!process.features.typescript) register(new URL('./typescript-hooks.mjs', import.meta.url));
