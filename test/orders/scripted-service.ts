import type { ServiceClient } from '../../src/service/client.ts';
import type { Envelope } from '../../src/service/envelope.ts';
import {
  ServiceError,
  type ServiceErrorDetails,
  type ServiceErrorKind,
  SuspendedError,
} from '../../src/service/errors.ts';
import type { RequestDescription } from '../../src/service/task.ts';

export interface Request {
  /** Name of the client's task: `domain.renew`. */
  readonly task: string;
  readonly ctid: string;
  /** Includes secrets. */
  readonly description: RequestDescription;
}

export const DONE: Envelope = {
  stid: '20260301-test-1',
  status: { code: 'S0100', text: 'Done by the service', type: 'SUCCESS' },
  messages: [],
  data: [],
};

/** An error of the client, as caused by the service or the network. */
export function newServiceError(
  kind: ServiceErrorKind,
  details: Partial<ServiceErrorDetails> = {},
): ServiceError {
  return new ServiceError(kind, `calling the service: ${kind}`, { task: 'domain.renew', ...details });
}

/**
 * The domain service behind the client's port, with scripted responses. Like the real client, it sends nothing after
 * the deadline.
 */
export class ScriptedService {
  /** Sent requests, in order. */
  readonly received: Request[] = [];
  /** Runs before a request is sent, like opening a session; throws if that fails. */
  prepare: (request: Request) => Promise<void> = async () => undefined;
  /** The service's response; throws the client's error. */
  answer: (request: Request, signal: AbortSignal | undefined) => Promise<Envelope> = async () => DONE;

  /** How often a request with this client transaction id was sent. */
  countSent(ctid: string): number {
    return this.received.filter((request) => request.ctid === ctid).length;
  }

  readonly client: ServiceClient = {
    account: { method: 'password', login: 'alice', context: 4 },
    run: async () => Promise.reject(new Error('orders use begin()')),
    begin: (task, { description, ...call }) => {
      const request: Request = { task: task.name, ctid: call.ctid ?? '', description };
      return {
        sign: () => this.prepare(request),
        send: async (sendDeadline) => {
          if (sendDeadline !== undefined && sendDeadline.clock() > sendDeadline.at)
            throw new SuspendedError('too late');
          this.received.push(request);
          const answered = await this.answer(request, call.signal);
          const { output, envelope } = task.output({ envelope: answered, setCookie: [] });
          return {
            ...{ kind: 'answered', output, envelope: envelope ?? answered },
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

/** A request that runs until its signal aborts. */
export function untilAborted(signal: AbortSignal | undefined): Promise<never> {
  return new Promise((_resolve, reject) => {
    const fail = () => reject(newServiceError('unknown_outcome'));
    if (signal?.aborted === true) fail();
    signal?.addEventListener('abort', fail, { once: true });
  });
}
