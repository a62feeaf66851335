import type { Secret } from '../secret.ts';

export interface Session {
  /** The session id (JSON) or hash (XML). */
  readonly key: Secret;
  /** Milliseconds since 1970, or infinity if only the service knows when the session ends. */
  readonly expiresAt: number;
}

/** One session that a client's concurrent calls share. */
export interface SharedSession {
  /** Concurrent callers share the pending login and its failure. */
  getOrOpen(): Promise<Session>;
  /** Does nothing if another call has already replaced the session. */
  invalidate(session: Session): void;
  /** Waits if a session is being opened. @returns undefined if there is no valid session */
  getExisting(): Promise<Session | undefined>;
}

/** Sessions are renewed this long before they expire, so that none ends during a request. */
const RENEWAL_MARGIN_MS = 30_000;

export function createSharedSession(
  openSession: () => Promise<Session>,
  now: () => number,
  initialSession?: Session | undefined,
): SharedSession {
  let currentEntry: { readonly sessionPromise: Promise<Session>; session?: Session } | undefined =
    initialSession === undefined
      ? undefined
      : { sessionPromise: Promise.resolve(initialSession), session: initialSession };

  const discardEntry = (entry: typeof currentEntry): void => {
    if (currentEntry === entry) currentEntry = undefined;
  };

  return {
    getOrOpen() {
      const expiresAt = currentEntry?.session?.expiresAt;
      if (currentEntry === undefined || (expiresAt !== undefined && now() >= expiresAt - RENEWAL_MARGIN_MS)) {
        const sessionPromise = openSession();
        const entry: NonNullable<typeof currentEntry> = { sessionPromise };
        currentEntry = entry;
        sessionPromise.then(
          (session) => {
            entry.session = session;
          },
          () => discardEntry(entry),
        );
      }
      return currentEntry.sessionPromise;
    },
    invalidate(session) {
      if (currentEntry?.session === session) currentEntry = undefined;
    },
    async getExisting() {
      const entry = currentEntry;
      const session = await entry?.sessionPromise.catch(() => undefined);
      return session !== undefined && session.expiresAt > now() ? session : undefined;
    },
  };
}
