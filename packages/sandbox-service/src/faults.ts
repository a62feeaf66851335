import type { SandboxTask } from './tasks.ts';

/** Which requests a fault affects. All given fields must match. */
interface FaultMatch {
  readonly task?: SandboxTask;
  /** The domain, redirect source, contact id or user that the request is about. */
  readonly name?: string;
  readonly method?: string;
  readonly interface?: RequestInterface;
  readonly ctid?: string;
}

export type RequestInterface = 'json' | 'xml' | 'rdap';

interface FaultBase {
  readonly match?: FaultMatch;
  /** Number of requests to affect. Default: all, until the fault is cleared. */
  readonly times?: number;
  /** Whether the task is carried out before the fault occurs. The default depends on the kind. */
  readonly carriedOut?: boolean;
}

/** A failure between the client and the service. */
export type Fault = FaultBase &
  (
    | /** No response; the connection stays open. Default: not carried out. */ { readonly kind: 'hang' }
    | /** The connection is lost before anything is done. Never carried out. `reset` sends a TCP reset. */ {
        readonly kind: 'drop_before';
        readonly reset?: boolean;
      }
    | /** The connection is lost after the task was carried out. */ {
        readonly kind: 'drop_after';
        readonly reset?: boolean;
      }
    | /** A server error, as text or as an error envelope. Default: not carried out. */ {
        readonly kind: 'status_500' | 'status_503';
        readonly envelope?: boolean;
      }
    | /** Too many requests. `retryAfter`: seconds or an HTTP date, by default 1. Default: not carried out. */ {
        readonly kind: 'status_429';
        readonly retryAfter?: number | string;
      }
    | /** The correct response, cut after `bytes` (by default, half). With `abrupt`, the connection is lost, and
     * `Content-Length` is that of the whole response. Default: carried out. */ {
        readonly kind: 'cut_json' | 'cut_xml';
        readonly bytes?: number;
        readonly abrupt?: boolean;
      }
    | /** A web page with status 200. Default: not carried out. */ { readonly kind: 'html' }
    | /** A redirect that keeps method and body. Default: not carried out. */ {
        readonly kind: 'redirect_307';
        readonly location?: string;
      }
    | /** The correct response, one byte every `everyMs` (by default, 100). Default: carried out. */ {
        readonly kind: 'trickle';
        readonly everyMs?: number;
      }
    | /** A response of `bytes` (by default, 50 MB). Default: carried out. */ {
        readonly kind: 'huge';
        readonly bytes?: number;
      }
    | /** XML only: the correct response with a DOCTYPE. Default: carried out. */ {
        readonly kind: 'doctype';
      }
    | /** The correct response after `delayMs`. Default: carried out immediately. */ {
        readonly kind: 'slow';
        readonly delayMs: number;
      }
    | /** A readable response with wrong types. Default: carried out. */ { readonly kind: 'wrong_type' }
    | /** The correct response with a different status code or type. Default: carried out. */ {
        readonly kind: 'changed_status';
        readonly code?: string;
        readonly type?: string;
      }
    | /** An error envelope. Default: not carried out. */ {
        readonly kind: 'refuse';
        readonly code: string;
        readonly text: string;
        /** Default: 400 over JSON, 200 over XML. */
        readonly httpStatus?: number;
      }
    | /** RDAP only: no such domain, or an invalid expiry date. */ {
        readonly kind: 'rdap_not_found' | 'rdap_wrong_date';
      }
  );

export type FaultKind = Fault['kind'];

const CARRIED_OUT_BY_DEFAULT: Record<FaultKind, boolean> = {
  hang: false,
  drop_before: false,
  drop_after: true,
  status_500: false,
  status_503: false,
  status_429: false,
  cut_json: true,
  cut_xml: true,
  html: false,
  redirect_307: false,
  trickle: true,
  huge: true,
  doctype: true,
  slow: true,
  wrong_type: true,
  changed_status: true,
  refuse: false,
  rdap_not_found: false,
  rdap_wrong_date: true,
};

const AFFECTED_INTERFACES: Partial<Record<FaultKind, readonly RequestInterface[]>> = {
  cut_json: ['json', 'rdap'],
  cut_xml: ['xml'],
  doctype: ['xml'],
  changed_status: ['json', 'xml'],
  refuse: ['json', 'xml'],
  rdap_not_found: ['rdap'],
  rdap_wrong_date: ['rdap'],
};

export function isCarriedOut(fault: Fault): boolean {
  if (fault.kind === 'drop_before' || fault.kind === 'drop_after') return CARRIED_OUT_BY_DEFAULT[fault.kind];
  return fault.carriedOut ?? CARRIED_OUT_BY_DEFAULT[fault.kind];
}

/** The properties of a request that a fault can match. */
export interface FaultTarget {
  readonly interface: RequestInterface;
  readonly task: SandboxTask | null;
  readonly name: string | null;
  readonly method: string;
  readonly ctid: string | null;
}

/** The active faults. If several of them match a request, the first one is applied. */
export class Faults {
  #faults: { readonly fault: Fault; remaining: number }[] = [];

  set(fault: Fault): void {
    this.#faults.push({ fault, remaining: fault.times ?? Number.POSITIVE_INFINITY });
  }

  clear(): void {
    this.#faults = [];
  }

  list(): readonly Fault[] {
    return this.#faults.map((entry) => entry.fault);
  }

  /** Returns the fault for this request, and counts it as used once. */
  take(target: FaultTarget): Fault | undefined {
    const activeFault = this.#faults.find((entry) => matchesTarget(entry.fault, target));
    if (activeFault === undefined) return undefined;
    activeFault.remaining -= 1;
    if (activeFault.remaining <= 0) this.#faults = this.#faults.filter((entry) => entry !== activeFault);
    return activeFault.fault;
  }
}

function matchesTarget({ kind, match = {} }: Fault, target: FaultTarget): boolean {
  return (
    (AFFECTED_INTERFACES[kind]?.includes(target.interface) ?? true) &&
    (match.interface === undefined || match.interface === target.interface) &&
    (match.task === undefined || match.task === target.task) &&
    (match.name === undefined || match.name === target.name) &&
    (match.method === undefined || match.method === target.method) &&
    (match.ctid === undefined || match.ctid === target.ctid)
  );
}
