import type { Secret } from '../secret.ts';

/** A session of the service that a client holds. */
export interface Session {
  /** JSON: the id of the cookie; XML: the hash. */
  readonly key: Secret;
  /** When it runs out, in milliseconds since 1970; infinite when only the service knows. */
  readonly expiresAt: number;
}

/** One session, shared by the concurrent calls of one client. */
export interface SharedSession {
  /** The open session, or a new one; calls that ask at the same time share its opening and its failure. */
  get(): Promise<Session>;
  /** Forgets the session that the service refused, unless another call has renewed it already. */
  invalidate(session: Session): void;
  /** The session that is open or being opened; undefined when there is none. */
  current(): Promise<Session | undefined>;
}

/** Sessions are renewed this long before they run out, so that none ends while a request is under way. */
const MARGIN_MS = 30_000;

/** @param open opens a session at the service */
export function shareSession(
  open: () => Promise<Session>,
  now: () => number,
  given?: Session | undefined,
): SharedSession {
  let current: { readonly opening: Promise<Session>; session?: Session } | undefined =
    given === undefined ? undefined : { opening: Promise.resolve(given), session: given };

  const forget = (entry: typeof current): void => {
    if (current === entry) current = undefined;
  };

  return {
    get() {
      const expiresAt = current?.session?.expiresAt;
      if (current === undefined || (expiresAt !== undefined && now() >= expiresAt - MARGIN_MS)) {
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
    async current() {
      const entry = current;
      const session = await entry?.opening.catch(() => undefined);
      return session !== undefined && session.expiresAt > now() ? session : undefined;
    },
  };
}
