import { useCallback, useEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { Snapshot } from '../src/protocol.ts';
import { fetchSnapshot, type Listener, listen } from './api.ts';
import { addressOf, type Place, readPlace } from './place.ts';

export interface LiveData {
  /** Undefined until it was read. */
  snapshot: Snapshot | undefined;
  online: boolean;
  /**
   * Listens on the page's only connection, because a browser opens few connections to a server.
   * @returns stops listening
   */
  listen(listener: Listener): () => void;
}

/** Reads once at a time. If requested during a read, reads once more afterwards. */
export function useReader<T>(read: () => Promise<T>, take: (value: T) => void): () => void {
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
        // The person may have changed meanwhile.
        if (reading === current.read) current.take(value);
        else current.again = true;
      } catch {
        // The event stream detects an outage of the workspace. Afterwards, everything is read again.
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

/**
 * One person's data and its updates.
 * @param userId empty for the first person
 */
export function useLive(userId: string): LiveData {
  const [snapshot, setSnapshot] = useState<Snapshot>();
  const [online, setOnline] = useState(true);
  const listeners = useRef(new Set<Listener>());
  const readSnapshot = useReader(
    useMemo(() => () => fetchSnapshot(userId), [userId]),
    setSnapshot,
  );
  useEffect(readSnapshot, [readSnapshot, userId]);
  useEffect(
    () =>
      listen({
        connected: (open) => {
          setOnline(open);
          // The workspace may have been restarted.
          if (open) readSnapshot();
          for (const listener of listeners.current) listener.connected(open);
        },
        changed: (change) => {
          if (!change.topic.startsWith('host.')) readSnapshot();
          for (const listener of listeners.current) listener.changed(change);
        },
      }),
    [readSnapshot],
  );
  const listenToo = useCallback((listener: Listener) => {
    listeners.current.add(listener);
    return () => void listeners.current.delete(listener);
  }, []);
  const isTheirs = userId === '' || snapshot?.me === userId;
  return { snapshot: isTheirs ? snapshot : undefined, online, listen: listenToo };
}

/** The place of the page, which follows the browser's back and forward buttons. */
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

/** A value that survives a reload, shared by the windows of this browser. */
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
