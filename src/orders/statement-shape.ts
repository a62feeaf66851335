import type { SecretCommitment } from '../service/secret.ts';
import type { RequestDescription } from '../service/task.ts';
import type { OrderTaskName } from './order.ts';

/** A value in a request. Secrets are replaced by a {@link SecretCommitment}. */
export type StatementValue = string | number | boolean | readonly StatementValue[] | StatementObject;

export interface StatementObject {
  readonly [field: string]: StatementValue;
}

export type StatementRequest =
  /** Sends nothing, but allows other orders under these terms. */
  | { readonly interface: 'none'; readonly terms: StatementObject }
  | (Omit<Extract<RequestDescription, { interface: 'json' }>, 'body'> & { readonly body?: StatementValue })
  | (Omit<Extract<RequestDescription, { interface: 'xml' }>, 'element'> & {
      readonly element: StatementObject;
    });

export interface StatementItem {
  readonly n: number;
  readonly name: string;
  readonly ctid: string;
  readonly request: StatementRequest;
}

/** Everything that an order sends to the service, without the secrets. */
export interface Statement {
  readonly version: 1;
  readonly order: string;
  readonly task: OrderTaskName;
  /** The requester's chosen send time, in UTC (ISO 8601). */
  readonly notBefore?: string;
  /** The URL of the JSON interface, or of the XML interface if all requests are XML. */
  readonly service: string;
  /** `SERVICE_REPLY_TO`, sent with JSON requests. */
  readonly replyTo?: string;
  readonly account: {
    readonly method: string;
    readonly login: string;
    /** Absent for a trusted application. */
    readonly context?: number;
    readonly team: boolean;
  };
  readonly items: readonly StatementItem[];
}
