import { randomUUID } from 'node:crypto';
import { MINUTE } from './clock.ts';

export interface Session {
  readonly id: string;
  readonly interface: 'json' | 'xml';
  readonly user: string;
  readonly context: number;
  readonly endsAt: number;
}

/** Used if the login sets no timeout (“Limits” in the service's API documentation). */
export const DEFAULT_SESSION_MINUTES = 10;

/**
 * A session ends after its lifetime, whether it is used or not, and when the process ends. A session of one interface
 * isn't valid in the other.
 */
export class Sessions {
  readonly #sessions = new Map<string, Session>();
  readonly #now: () => number;

  constructor(now: () => number) {
    this.#now = now;
  }

  open(session: Pick<Session, 'interface' | 'user' | 'context'>, minutes: number): Session {
    const opened = { ...session, id: randomUUID(), endsAt: this.#now() + minutes * MINUTE };
    this.#sessions.set(opened.id, opened);
    return opened;
  }

  find(id: string, interfaceName: Session['interface']): Session | undefined {
    const session = this.#sessions.get(id);
    if (session === undefined || session.interface !== interfaceName) return undefined;
    if (this.#now() < session.endsAt) return session;
    this.#sessions.delete(id);
    return undefined;
  }

  end(id: string): void {
    this.#sessions.delete(id);
  }

  /** Ends all sessions, like a restart of a real service. */
  endAll(): void {
    this.#sessions.clear();
  }

  count(): number {
    return [...this.#sessions.values()].filter((session) => this.#now() < session.endsAt).length;
  }
}
