/** A fault of a nameserver or a resolver. */
export interface DnsFault {
  readonly kind:
    | /** No answer, ever. */ 'silence'
    | 'servfail'
    | 'refused'
    | /** An answer to another id. */ 'wrong_id'
    | /** An answer to the question about another name. */ 'wrong_question'
    | /** An answer from another port than was asked. UDP only. */ 'wrong_source'
    | /** The right answer without authority. */ 'not_authoritative'
    | /** UDP: an empty answer with the bit that says to ask over TCP. */ 'truncate'
    | /** The header of an answer, then nothing that can be read. */ 'garbage'
    | /** The right answer, with the name in capitals. */ 'other_case'
    | /** Questions with EDNS are refused as unreadable, as very old servers do. */ 'no_edns'
    | /** No DNSSEC records, although they were asked for. */ 'no_dnssec'
    | /** An answer with 2,000 records. */ 'huge'
    | /** Over TCP, the connection ends in the middle of the answer. */ 'cut';
  readonly match?: {
    readonly name?: string;
    readonly type?: string;
    /** A nameserver's host name, or `resolver`. */
    readonly server?: string;
    readonly transport?: 'udp' | 'tcp';
  };
  /** How many questions it affects; without it, all until it is cleared. */
  readonly times?: number;
  /** For `wrong_…`: the right answer follows. */
  readonly thenRight?: boolean;
}

/** A question that reached the sandbox. */
export interface RecordedQuestion {
  /** A nameserver's host name, or `resolver`. */
  readonly server: string;
  readonly transport: 'udp' | 'tcp';
  readonly id: number;
  readonly name: string;
  readonly type: string;
  readonly recursionDesired: boolean;
  /** Asks for the records of DNSSEC. */
  readonly dnssec: boolean;
  /** The size that the client accepts over UDP (EDNS); undefined when it does not say. */
  readonly udpPayloadSize: number | undefined;
  readonly fromPort: number;
}

/** The faults that are set. */
export class DnsFaults {
  #set: { readonly fault: DnsFault; left: number }[] = [];

  set(fault: DnsFault): void {
    this.#set.push({ fault, left: fault.times ?? Number.POSITIVE_INFINITY });
  }

  clear(): void {
    this.#set = [];
  }

  /** The fault that affects a question, which is counted as used. */
  strike(question: RecordedQuestion): DnsFault | undefined {
    const found = this.#set.find(({ fault: { match = {} } }) =>
      [
        [match.name, question.name],
        [match.type, question.type],
        [match.server, question.server],
        [match.transport, question.transport],
      ].every(([wanted, is]) => wanted === undefined || wanted === is),
    );
    if (found === undefined) return undefined;
    found.left -= 1;
    if (found.left <= 0) this.#set.splice(this.#set.indexOf(found), 1);
    return found.fault;
  }
}
