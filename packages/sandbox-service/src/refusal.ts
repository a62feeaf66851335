/**
 * A request that the sandbox refuses.
 *
 * The document lists the error codes of the .rest zone without their meaning, and neither the HTTP status nor
 * the body of a failed request (service API, section Errors). The pairing of code, HTTP status and sentence
 * below is the sandbox's own. The answer is an ordinary envelope whose status has one of the listed codes, a
 * sentence that names what is wrong, and the type ERROR.
 */

/** Documented error codes, by the fault that the sandbox uses them for. */
const CODES = {
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

const HTTP_STATUS: Record<RefusalKind, number> = {
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

export type RefusalKind = keyof typeof CODES;

/** The parts of a refusal that an interface formats. Without an HTTP status it uses its default. */
export interface RefusedWith {
  readonly code: string;
  readonly message: string;
  readonly httpStatus?: number | undefined;
}

export class Refusal extends Error implements RefusedWith {
  override readonly name = 'Refusal';
  readonly code: string;
  readonly httpStatus: number;

  /**
   * @param kind what is wrong; it decides the status code and the HTTP status
   * @param sentence what is wrong, for the reader of the answer; never contains a secret
   * @param httpStatus given where HTTP has a more exact status (405, 413, 415)
   */
  constructor(kind: RefusalKind, sentence: string, httpStatus: number = HTTP_STATUS[kind]) {
    super(sentence);
    this.code = CODES[kind];
    this.httpStatus = httpStatus;
  }
}
