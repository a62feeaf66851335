/** The tasks of the domain service as the request log and the matches of faults name them. */
export type ServiceTask =
  | 'session.create'
  | 'session.delete'
  | 'user.create'
  | 'redirect.update'
  | 'sslContact.update'
  | 'prereg.search'
  | 'domain.create'
  | 'domain.transfer'
  | 'domain.renew'
  | 'domain.delete'
  | 'domain.restore'
  | 'domain.authinfo'
  | 'domain.ownerChange'
  | 'domain.update';

/** Those of the service and of the directory beside it. */
export type SandboxTask = ServiceTask | 'rdap.domain' | 'rdap.bootstrap';
