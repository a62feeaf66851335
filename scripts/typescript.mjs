// Lets `node --import ./scripts/typescript.mjs file.ts` run TypeScript sources, including those of the packages. Only
// for scripts and tests: releases are built.
import { register } from 'node:module';

register(new URL('./typescript-hooks.mjs', import.meta.url));
