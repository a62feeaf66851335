import { useCallback, useEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { Snapshot } from '../src/protocol.ts';
import { fetchClock, fetchHints, fetchRequests, fetchSnapshot, listen } from './api.ts';
import type { ClockState, Hints, SeenRequest } from './host.ts';
import { addressOf, type Place, readPlace } from './place.ts';
import { mergeRequests, requestsReadFrom } from './requests.ts';

/*
 * What the page knows, and how it stays up to date.
 */

/** What the demonstration's host announces; every other change is one of the snapshot. */
const REQUESTS_TOPIC = 'requests';

export interface Live {
  /** What the person sees; undefined until it was read for this person. */
  snapshot: Snapshot | undefined;
  /** Requests that reached the sandbox, newest first. */
  requests: readonly SeenRequest[];
  /** Undefined where the host has no clock to move. */
  clock: ClockState | undefined;
  setClock(clock: ClockState): void;
  online: boolean;
}

/** Reads one thing at a time; what is asked for meanwhile is read once more afterwards. */
function useReader<T>(read: () => Promise<T>, take: (value: T) => void): () => void {
  const state = useRef({ busy: false, again: false, read, take });
  state.current.read = read;
  state.current.take = take;
  return useCallback(() => {
    const run = async (): Promise<void> => {
      const { current } = state;
      if (current.busy) {
        current.again = true;
        return;
      }
      current.busy = true;
      const reading = current.read;
      try {
        const value = await reading();
        // Another person may have been chosen while this was on its way.
        if (reading === current.read) current.take(value);
        else current.again = true;
      } catch {
        // The event stream tells that the workspace is away, and its return reads everything again.
      } finally {
        current.busy = false;
      }
      if (current.again) {
        current.again = false;
        await run();
      }
    };
    void run();
  }, []);
}

/** Everything that changes by itself, for one person. */
export function useLive(userId: string): Live {
  const [snapshot, setSnapshot] = useState<Snapshot>();
  const [requests, setRequests] = useState<readonly SeenRequest[]>([]);
  const [clock, setClock] = useState<ClockState>();
  const [online, setOnline] = useState(true);
  const known = useRef(requests);
  known.current = requests;

  const readSnapshot = useReader(
    useMemo(() => () => fetchSnapshot(userId), [userId]),
    setSnapshot,
  );
  const readRequests = useReader(
    useCallback(() => fetchRequests(requestsReadFrom(known.current)), []),
    (fresh) => setRequests((before) => mergeRequests(before, fresh)),
  );
  const readClock = useReader(fetchClock, setClock);

  useEffect(readSnapshot, [readSnapshot, userId]);
  useEffect(
    () =>
      listen({
        connected: (open) => {
          setOnline(open);
          if (!open) return;
          // The workspace may have been started anew, with its request log empty.
          setRequests([]);
          known.current = [];
          readSnapshot();
          readRequests();
          readClock();
        },
        changed: ({ topic }) => {
          if (topic === REQUESTS_TOPIC) return readRequests();
          readSnapshot();
          // The clock may have been moved in another window.
          readClock();
        },
      }),
    [readSnapshot, readRequests, readClock],
  );
  return { snapshot: snapshot?.me === userId ? snapshot : undefined, requests, clock, setClock, online };
}

/** What the guided path may offer to type; undefined where the host tells nothing. */
export function useHints(): Hints | undefined {
  const [hints, setHints] = useState<Hints>();
  useEffect(() => {
    fetchHints().then(setHints, () => setHints(undefined));
  }, []);
  return hints;
}

/** Where the page is, following the browser's back and forward. */
export function usePlace(person: string): { place: Place; go: (place: Place) => void } {
  const [place, setPlace] = useState<Place>(() => readPlace(location));
  useEffect(() => {
    const moved = (): void => setPlace(readPlace(location));
    addEventListener('popstate', moved);
    return () => removeEventListener('popstate', moved);
  }, []);
  const go = useCallback(
    (next: Place) => {
      const address = addressOf(next, person);
      if (address !== location.pathname + location.search + location.hash)
        history.pushState(null, '', address);
      setPlace(next);
    },
    [person],
  );
  return { place, go };
}

/** A value that outlasts a reload, shared by the windows of this browser. */
export function useStored<T>(key: string, start: T): [T, (change: (before: T) => T) => void] {
  const load = useCallback((): T => {
    const text = localStorage.getItem(key);
    if (text === null) return start;
    const kept: T = JSON.parse(text);
    return kept;
    // `start` is a constant of the caller.
  }, [key]);
  const [value, setValue] = useState({ key, value: load() });
  const shown = value.key === key ? value.value : load();
  useEffect(() => {
    const changed = (event: StorageEvent): void => {
      if (event.key === key) setValue({ key, value: load() });
    };
    addEventListener('storage', changed);
    return () => removeEventListener('storage', changed);
  }, [key, load]);
  const change = useCallback(
    (update: (before: T) => T) => {
      const before = load();
      const next = update(before);
      if (next === before) return;
      localStorage.setItem(key, JSON.stringify(next));
      setValue({ key, value: next });
    },
    [key, load],
  );
  return [shown, change];
}
