import type { Secret } from '../secret.ts';

export interface Session {
  /** JSON: the id in the cookie. XML: the hash. */
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

/** Sessions are renewed this early, so that none ends during a request. */
const RENEWAL_MARGIN_MS = 30_000;

export function shareSession(
  open: () => Promise<Session>,
  now: () => number,
  initial?: Session | undefined,
): SharedSession {
  let current: { readonly opening: Promise<Session>; session?: Session } | undefined =
    initial === undefined ? undefined : { opening: Promise.resolve(initial), session: initial };

  const forget = (entry: typeof current): void => {
    if (current === entry) current = undefined;
  };

  return {
    getOrOpen() {
      const expiresAt = current?.session?.expiresAt;
      if (current === undefined || (expiresAt !== undefined && now() >= expiresAt - RENEWAL_MARGIN_MS)) {
        const opening = open();
        const entry: NonNullable<typeof current> = { opening };
        current = entry;
        opening.then(
          (session) => {
            entry.session = session;
          },
          () => forget(entry),
        );
      }
      return current.opening;
    },
    invalidate(session) {
      if (current?.session === session) current = undefined;
    },
    async getExisting() {
      const entry = current;
      const session = await entry?.opening.catch(() => undefined);
      return session !== undefined && session.expiresAt > now() ? session : undefined;
    },
  };
}
