import { NOT_SENDABLE, type RequestIssue } from '../request-issue.ts';

/** Thrown for input that an interface can't transmit. The client converts this error to `invalid_input`. */
export class InvalidInputError extends Error {
  override readonly name = 'InvalidInputError';
  readonly issue: RequestIssue;

  /**
   * @param message for the log
   * @param issue for people
   */
  constructor(message: string, issue: RequestIssue = NOT_SENDABLE) {
    super(message);
    this.issue = issue;
  }
}

/**
 * The message never quotes the response, which may echo a secret. The client converts this error to
 * `unknown_outcome` or `invalid_response`, depending on the task's effect.
 */
export class InvalidResponseError extends Error {
  override readonly name = 'InvalidResponseError';
}
