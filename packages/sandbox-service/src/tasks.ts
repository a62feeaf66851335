import type { SUCCESS } from './answer.ts';

/** The tasks of the domain service, as named in the request log and faults. */
export type ServiceTask = keyof typeof SUCCESS;

/** The tasks of the service, and requests for public records. */
export type SandboxTask = ServiceTask | 'rdap.domain' | 'rdap.bootstrap';
