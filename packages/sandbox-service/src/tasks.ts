import type { SUCCESS } from './answer.ts';

/** The tasks of the domain service, named as in the request log and in faults. */
export type ServiceTask = keyof typeof SUCCESS;

/** The tasks of the service, and requests for public records. */
export type SandboxTask = ServiceTask | 'rdap.domain' | 'rdap.bootstrap';
