/**
 * A request that the sandbox refuses.
 *
 * The service's API documentation (“Errors”) lists the error codes of the .rest zone without their meanings, and
 * doesn't describe the response to a failed request. So the sandbox assigns codes and HTTP statuses to problems.
 */

/** Documented error codes, by kind of problem. */
const ERROR_CODES = {
  malformed: 'EF01002',
  unauthenticated: 'EF00803',
  forbidden: 'EF00805',
  not_found: 'EF01015',
  conflict: 'EF01055',
  rule: 'EF01017',
  nameservers: 'EF03005',
  contact: 'EF03010',
  auth_code: 'EF01074',
  transfer_lock: 'EF01075',
} as const;

const HTTP_STATUSES: Record<RefusalKind, number> = {
  malformed: 400,
  unauthenticated: 401,
  forbidden: 403,
  not_found: 404,
  conflict: 409,
  rule: 422,
  nameservers: 422,
  contact: 422,
  auth_code: 422,
  transfer_lock: 409,
};

export type RefusalKind = keyof typeof ERROR_CODES;

/** Without an HTTP status, the interface uses its default. */
export interface RefusalDetails {
  readonly code: string;
  readonly message: string;
  readonly httpStatus?: number | undefined;
}

export class Refusal extends Error implements RefusalDetails {
  override readonly name = 'Refusal';
  readonly code: string;
  readonly httpStatus: number;

  /**
   * @param kind determines the status code and the HTTP status
   * @param message describes the problem; never contains a secret
   * @param httpStatus given if HTTP has a more precise status (405, 413, 415)
   */
  constructor(kind: RefusalKind, message: string, httpStatus: number = HTTP_STATUSES[kind]) {
    super(message);
    this.code = ERROR_CODES[kind];
    this.httpStatus = httpStatus;
  }
}
