/** The tasks of the sandbox as fault matches and the request log name them. */
export const SANDBOX_TASKS = [
  'session.create',
  'session.delete',
  'user.create',
  'redirect.update',
  'sslContact.update',
  'prereg.search',
  'domain.create',
  'domain.transfer',
  'domain.renew',
  'domain.delete',
  'domain.restore',
  'domain.authinfo',
  'domain.ownerChange',
  'domain.update',
  'rdap.domain',
  'rdap.bootstrap',
] as const;
export type SandboxTask = (typeof SANDBOX_TASKS)[number];
/** Tasks of the domain service itself; the others belong to the directory beside it. */
export type ServiceTask = Exclude<SandboxTask, `rdap.${string}`>;
