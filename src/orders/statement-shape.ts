import type { SecretCommitment } from '../service/secret.ts';
import type { RequestDescription } from '../service/task.ts';
import type { OrderTaskName } from './order.ts';

/** A value of a request; a secret is a {@link SecretCommitment}. */
export type StatementValue = string | number | boolean | readonly StatementValue[] | StatementObject;

export interface StatementObject {
  readonly [field: string]: StatementValue;
}

export type StatementRequest =
  /** Nothing is sent. The item allows other orders under these terms. */
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

/** Everything an order sends to the service, without its secrets. */
export interface Statement {
  readonly version: 1;
  readonly order: string;
  readonly task: OrderTaskName;
  /** The time that its requester chose, in UTC (ISO 8601). */
  readonly notBefore?: string;
  /** The JSON interface's URL, or the XML interface's if all requests are XML. */
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
