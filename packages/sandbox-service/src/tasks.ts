import type { SUCCESS_STATUSES } from './answer.ts';

/** The tasks of the domain service, named as in the request log and in faults. */
export type ServiceTask = keyof typeof SUCCESS_STATUSES;

/** The tasks of the service, and requests for public records. */
export type SandboxTask = ServiceTask | 'rdap.domain' | 'rdap.bootstrap';
