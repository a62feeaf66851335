import type { JsonObject } from './protocol.ts';

/** An error response of the Web API: `{ ok: false, error }` with Slack's error code. */
export class SlackError extends Error {
  readonly code: string;
  /** Other fields of the response, for example `response_metadata` or `needed`. */
  readonly fields: JsonObject;

  constructor(code: string, fields: JsonObject = {}) {
    super(code);
    this.code = code;
    this.fields = fields;
  }
}
