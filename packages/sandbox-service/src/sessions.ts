import { randomUUID } from 'node:crypto';
import { MINUTE_MS } from './clock.ts';

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
 * Using a session doesn't extend its lifetime. All sessions end with the process. A session of one interface isn't
 * valid in the other.
 */
export class Sessions {
  readonly #sessions = new Map<string, Session>();
  readonly #now: () => number;

  constructor(now: () => number) {
    this.#now = now;
  }

  open(session: Pick<Session, 'interface' | 'user' | 'context'>, lifetimeMinutes: number): Session {
    const newSession = { ...session, id: randomUUID(), endsAt: this.#now() + lifetimeMinutes * MINUTE_MS };
    this.#sessions.set(newSession.id, newSession);
    return newSession;
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

  /** Ends all sessions, as a restart of a real service does. */
  endAll(): void {
    this.#sessions.clear();
  }

  countActive(): number {
    return [...this.#sessions.values()].filter((session) => this.#now() < session.endsAt).length;
  }
}
