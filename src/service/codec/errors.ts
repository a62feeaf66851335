/** Input that an interface cannot carry. The client turns it into `invalid_input` with the activity's name. */
export class InvalidInputError extends Error {
  override readonly name = 'InvalidInputError';
}

/**
 * An answer that cannot be read. Its message never quotes the answer, which may echo a secret.
 * The client turns it into `unknown_outcome` or `invalid_response`, depending on the task's effect.
 */
export class InvalidResponseError extends Error {
  override readonly name = 'InvalidResponseError';
}
