import type { ServiceClient } from '../../src/service/client.ts';
import type { Envelope } from '../../src/service/envelope.ts';
import {
  ServiceError,
  type ServiceErrorDetails,
  type ServiceErrorKind,
  SuspendedError,
} from '../../src/service/errors.ts';
import type { RequestDescription } from '../../src/service/task.ts';

/** A request that has left for the service. */
export interface Request {
  /** Name of the client's task: `domain.renew`. */
  readonly task: string;
  readonly ctid: string;
  /** As it was described, with its secrets. */
  readonly description: RequestDescription;
}

export const DONE: Envelope = {
  stid: '20260301-test-1',
  status: { code: 'S0100', text: 'Done by the service', type: 'SUCCESS' },
  messages: [],
  data: [],
};

/** An error of the client's, as the service or the network causes it. */
export function fails(kind: ServiceErrorKind, details: Partial<ServiceErrorDetails> = {}): ServiceError {
  return new ServiceError(kind, `calling the service: ${kind}`, { task: 'domain.renew', ...details });
}

/**
 * The domain service as the client's port shows it, played by a script. It keeps the port's promises: nothing leaves that is not sent, and nothing past its deadline.
 */
export class ScriptedService {
  /** Requests that left, in their order. */
  readonly received: Request[] = [];
  /** What has to be done before a request can leave, such as opening a session; throws when it cannot. */
  prepare: (request: Request) => Promise<void> = async () => undefined;
  /** What the service answers; throws what the client makes of it. */
  answer: (request: Request, signal: AbortSignal | undefined) => Promise<Envelope> = async () => DONE;

  /** How often a request with this client transaction id has left. */
  timesSent(ctid: string): number {
    return this.received.filter((request) => request.ctid === ctid).length;
  }

  readonly client: ServiceClient = {
    account: { method: 'password', login: 'alice', context: 4 },
    run: async () => Promise.reject(new Error('an order is sent as it is described')),
    begin: (task, { description, ...call }) => {
      const request: Request = { task: task.name, ctid: call.ctid ?? '', description };
      return {
        sign: () => this.prepare(request),
        send: async (leaveBefore) => {
          if (leaveBefore !== undefined && leaveBefore.clock() > leaveBefore.at)
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

/** What an ended signal makes of a request that is out. */
export function untilAborted(signal: AbortSignal | undefined): Promise<never> {
  return new Promise((_resolve, reject) => {
    const give = () => reject(fails('unknown_outcome'));
    if (signal?.aborted === true) give();
    signal?.addEventListener('abort', give, { once: true });
  });
}
