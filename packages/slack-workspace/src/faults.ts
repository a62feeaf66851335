import { setTimeout as sleep } from 'node:timers/promises';

/** The failure of a Web API call. Only `slow` and `lost_answer` carry the call out. */
type FaultKind =
  | { kind: 'ratelimited' /** Seconds. */; retryAfter?: number }
  | { kind: 'error' /** One of Slack's codes, for example `internal_error`. */; code: string }
  | { kind: 'http_500' }
  /** A 200 with a proxy's HTML page. */
  | { kind: 'no_json' }
  /** No answer until the caller gives up. */
  | { kind: 'timeout' }
  /** Carried out after `delayMs`. */
  | { kind: 'slow'; delayMs: number }
  /** Carried out; then the connection is cut instead of answering. */
  | { kind: 'lost_answer' };

export type Fault = FaultKind & {
  /** For example `chat.postMessage`; `*` for every method. */
  method: string;
  /** Only calls for this channel. */
  channel?: string;
  /** How many calls it affects; all by default. */
  times?: number;
};

/** Faults without a good response. */
export type BreakingFault = Exclude<Fault, { kind: 'slow' }>;

export class Faults {
  #active: { fault: Fault; left: number }[] = [];

  set(fault: Fault): void {
    this.#active.push({ fault, left: fault.times ?? Number.POSITIVE_INFINITY });
  }

  clear(): void {
    this.#active = [];
  }

  /** The fault for this call, counted as used. Resolves after a delay fault's delay. */
  async meet(method: string, channel: string | undefined): Promise<BreakingFault | undefined> {
    const fault = this.#take(method, channel);
    if (fault?.kind !== 'slow') return fault;
    await sleep(fault.delayMs);
    return undefined;
  }

  #take(method: string, channel: string | undefined): Fault | undefined {
    const hit = this.#active.find(
      ({ fault, left }) =>
        left > 0 &&
        (fault.method === '*' || fault.method === method) &&
        (fault.channel === undefined || fault.channel === channel),
    );
    if (hit) hit.left -= 1;
    return hit?.fault;
  }
}
