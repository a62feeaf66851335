import type { ServiceClient } from '../../src/service/client.ts';
import type { Envelope } from '../../src/service/envelope.ts';
import {
  ServiceError,
  type ServiceErrorDetails,
  type ServiceErrorKind,
  SuspendedError,
} from '../../src/service/errors.ts';
import type { RequestDescription } from '../../src/service/task.ts';

export interface ReceivedRequest {
  /** Name of the client's task: `domain.renew`. */
  readonly task: string;
  readonly ctid: string;
  /** Includes secrets. */
  readonly description: RequestDescription;
}

export const SUCCESS_ENVELOPE: Envelope = {
  stid: '20260301-test-1',
  status: { code: 'S0100', text: 'Done by the service', type: 'SUCCESS' },
  messages: [],
  data: [],
};

/** Creates the error that the client throws if the service or the network fails. */
export function newServiceError(
  kind: ServiceErrorKind,
  details: Partial<ServiceErrorDetails> = {},
): ServiceError {
  return new ServiceError(kind, `calling the service: ${kind}`, { task: 'domain.renew', ...details });
}

/**
 * A service client that records its requests and has scripted responses. Like the real client, it sends
 * nothing after the deadline.
 */
export class ScriptedService {
  /** Sent requests, in order. */
  readonly received: ReceivedRequest[] = [];
  /** Runs before a request is sent, such as to open a session. It may throw. */
  prepare: (request: ReceivedRequest) => Promise<void> = async () => undefined;
  /** Returns the service's response, or throws the client's error. */
  answer: (request: ReceivedRequest, signal: AbortSignal | undefined) => Promise<Envelope> = async () =>
    SUCCESS_ENVELOPE;

  /** Counts how often a request with this client transaction id was sent. */
  countSent(ctid: string): number {
    return this.received.filter((request) => request.ctid === ctid).length;
  }

  readonly client: ServiceClient = {
    account: { method: 'password', login: 'alice', context: 4 },
    run: async () => Promise.reject(new Error('orders must use beginDescribedCall()')),
    beginDescribedCall: (task, { description, ...call }) => {
      const request: ReceivedRequest = { task: task.name, ctid: call.ctid ?? '', description };
      return {
        sign: () => this.prepare(request),
        send: async (sendDeadline) => {
          if (sendDeadline !== undefined && sendDeadline.clock() > sendDeadline.epochMs)
            throw new SuspendedError('too late');
          this.received.push(request);
          const response = await this.answer(request, call.signal);
          const { output, envelope } = task.parseOutput({ envelope: response, setCookieHeaders: [] });
          return {
            ...{ kind: 'answered', output, envelope: envelope ?? response },
            ...{ interface: 'json', httpStatus: 200 },
          };
        },
        end: () => undefined,
      };
    },
    verify: async () => ({ verified: true }),
    close: async () => undefined,
  };
}

/** Waits until the signal aborts, and then fails with an unknown outcome. */
export function failOnAbort(signal: AbortSignal | undefined): Promise<never> {
  return new Promise((_resolve, reject) => {
    const fail = () => reject(newServiceError('unknown_outcome'));
    if (signal?.aborted === true) fail();
    signal?.addEventListener('abort', fail, { once: true });
  });
}
