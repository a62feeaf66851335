import type { SUCCESS } from './answer.ts';

/** The tasks of the domain service as the request log and the matches of faults name them. */
export type ServiceTask = keyof typeof SUCCESS;

/** Those of the service and of the directory beside it. */
export type SandboxTask = ServiceTask | 'rdap.domain' | 'rdap.bootstrap';
