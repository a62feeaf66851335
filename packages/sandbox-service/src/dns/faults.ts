export interface DnsFault {
  readonly kind:
    | /** No response. */ 'silence'
    | 'servfail'
    | 'refused'
    | /** A response with another id. */ 'wrong_id'
    | /** A response to a question about another name. */ 'wrong_question'
    | /** A response from a different port. UDP only. */ 'wrong_source'
    | /** The correct response, but not authoritative. */ 'not_authoritative'
    | /** UDP: an empty response with the truncation bit. */ 'truncate'
    | /** The header of a response, then garbage. */ 'garbage'
    | /** The correct response, with the name in capitals. */ 'upper_case'
    | /** Queries with EDNS get FORMERR, as from very old servers. */ 'no_edns'
    | /** No DNSSEC records, although they were requested. */ 'no_dnssec'
    | /** A response with 2,000 records. */ 'huge'
    | /** TCP: the connection ends in the middle of the response. */ 'cut';
  readonly match?: {
    readonly name?: string;
    readonly type?: string;
    /** Host name of a nameserver, or `resolver`. */
    readonly server?: string;
    readonly transport?: 'udp' | 'tcp';
  };
  /** Number of questions to affect. Default: all, until the fault is cleared. */
  readonly times?: number;
  /** For `wrong_…`: whether the correct response follows. */
  readonly correctResponseFollows?: boolean;
}

export interface RecordedQuestion {
  /** Host name of a nameserver, or `resolver`. */
  readonly server: string;
  readonly transport: 'udp' | 'tcp';
  readonly id: number;
  readonly name: string;
  readonly type: string;
  readonly recursionDesired: boolean;
  readonly isDnssecRequested: boolean;
  /** The size of UDP responses that the client accepts (EDNS). Undefined without EDNS. */
  readonly udpPayloadSize: number | undefined;
  readonly clientPort: number;
}

export class DnsFaults {
  #faults: { readonly fault: DnsFault; remaining: number }[] = [];

  set(fault: DnsFault): void {
    this.#faults.push({ fault, remaining: fault.times ?? Number.POSITIVE_INFINITY });
  }

  clear(): void {
    this.#faults = [];
  }

  /** Returns the fault for a query, and counts it as used once. */
  take(question: RecordedQuestion): DnsFault | undefined {
    const activeFault = this.#faults.find(({ fault: { match = {} } }) =>
      [
        [match.name, question.name],
        [match.type, question.type],
        [match.server, question.server],
        [match.transport, question.transport],
      ].every(([expected, actual]) => expected === undefined || expected === actual),
    );
    if (activeFault === undefined) return undefined;
    activeFault.remaining -= 1;
    if (activeFault.remaining <= 0) this.#faults.splice(this.#faults.indexOf(activeFault), 1);
    return activeFault.fault;
  }
}
