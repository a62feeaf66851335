// Lets `node --import ./scripts/typescript.mjs file.ts` run the sources as they are, those of the packages too. For
// scripts and tests only: what is released is built.
import { register } from 'node:module';

register(new URL('./typescript-hooks.mjs', import.meta.url));
