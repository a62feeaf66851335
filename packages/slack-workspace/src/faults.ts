import { setTimeout as sleep } from 'node:timers/promises';

/** How a Web API call fails. Only `slow` and `lost_answer` carry out the call. */
type FailureMode =
  | { kind: 'ratelimited'; retryAfterSeconds?: number }
  /** Slack's error code, for example `internal_error`. */
  | { kind: 'error'; code: string }
  | { kind: 'http_500' }
  /** A 200 response with a proxy's HTML page. */
  | { kind: 'no_json' }
  /** No response, until the caller gives up. */
  | { kind: 'timeout' }
  /** Carried out after `delayMs`. */
  | { kind: 'slow'; delayMs: number }
  /** Carried out, but the connection is cut before a response. */
  | { kind: 'lost_answer' };

export type Fault = FailureMode & {
  /** For example `chat.postMessage`. `*` matches every method. */
  method: string;
  /** Restricts the fault to calls for this channel. */
  channel?: string;
  /** Number of calls to affect. Default: all. */
  times?: number;
};

/** Faults that replace the correct response. */
export type BreakingFault = Exclude<Fault, { kind: 'slow' }>;

export class Faults {
  #active: { fault: Fault; remaining: number }[] = [];

  set(fault: Fault): void {
    this.#active.push({ fault, remaining: fault.times ?? Number.POSITIVE_INFINITY });
  }

  clear(): void {
    this.#active = [];
  }

  /** Counts a use of the matching fault and returns it. For `slow`, resolves with undefined after the delay. */
  async apply(method: string, channel: string | undefined): Promise<BreakingFault | undefined> {
    const fault = this.#take(method, channel);
    if (fault?.kind !== 'slow') return fault;
    await sleep(fault.delayMs);
    return undefined;
  }

  #take(method: string, channel: string | undefined): Fault | undefined {
    const match = this.#active.find(
      ({ fault, remaining }) =>
        remaining > 0 &&
        (fault.method === '*' || fault.method === method) &&
        (fault.channel === undefined || fault.channel === channel),
    );
    if (match) match.remaining -= 1;
    return match?.fault;
  }
}
