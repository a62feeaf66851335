import type { SUCCESS_STATUSES } from './answer.ts';

/** A task of the domain service, named as in the request log and in faults. */
export type ServiceTask = keyof typeof SUCCESS_STATUSES;

/** A task of the service, or a request for public records. */
export type SandboxTask = ServiceTask | 'rdap.domain' | 'rdap.bootstrap';
