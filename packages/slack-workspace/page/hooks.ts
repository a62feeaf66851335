import { useCallback, useEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { Snapshot } from '../src/protocol.ts';
import { fetchSnapshot, type Listener, listen } from './api.ts';
import { buildPlaceUrl, type Place, parsePlace } from './place.ts';

export interface LiveData {
  /** Undefined until the first response. */
  snapshot: Snapshot | undefined;
  isOnline: boolean;
  /**
   * Shares the page's one connection, because browsers limit the connections to a server.
   * @returns a function that stops listening
   */
  listen(listener: Listener): () => void;
}

/** Returns a function that starts a read. If one is in progress, another one follows it. */
export function useReader<T>(read: () => Promise<T>, onValue: (value: T) => void): () => void {
  const state = useRef({ isReading: false, shouldReadAgain: false, read, onValue });
  state.current.read = read;
  state.current.onValue = onValue;
  return useCallback(() => {
    const run = async (): Promise<void> => {
      const { current } = state;
      if (current.isReading) {
        current.shouldReadAgain = true;
        return;
      }
      current.isReading = true;
      const startedRead = current.read;
      try {
        const value = await startedRead();
        // Another person may have been selected during the read.
        if (startedRead === current.read) current.onValue(value);
        else current.shouldReadAgain = true;
      } catch {
        // The event stream detects outages. When it reconnects, everything is read again.
      } finally {
        current.isReading = false;
      }
      if (current.shouldReadAgain) {
        current.shouldReadAgain = false;
        await run();
      }
    };
    void run();
  }, []);
}

/**
 * Keeps one person's data up to date.
 * @param userId empty for the first person
 */
export function useLiveData(userId: string): LiveData {
  const [snapshot, setSnapshot] = useState<Snapshot>();
  const [isOnline, setOnline] = useState(true);
  const listeners = useRef(new Set<Listener>());
  const readSnapshot = useReader(
    useMemo(() => () => fetchSnapshot(userId), [userId]),
    setSnapshot,
  );
  useEffect(readSnapshot, [readSnapshot, userId]);
  useEffect(
    () =>
      listen({
        onConnectionChange: (open) => {
          setOnline(open);
          // The workspace may have been restarted.
          if (open) readSnapshot();
          for (const listener of listeners.current) listener.onConnectionChange(open);
        },
        onChange: (change) => {
          if (!change.topic.startsWith('host.')) readSnapshot();
          for (const listener of listeners.current) listener.onChange(change);
        },
      }),
    [readSnapshot],
  );
  const addListener = useCallback((listener: Listener) => {
    listeners.current.add(listener);
    return () => void listeners.current.delete(listener);
  }, []);
  const isForUser = userId === '' || snapshot?.me === userId;
  return { snapshot: isForUser ? snapshot : undefined, isOnline, listen: addListener };
}

/** The place of the page, which follows the browser's back and forward buttons. */
export function usePlace(personId: string): { place: Place; go: (place: Place) => void } {
  const [place, setPlace] = useState<Place>(() => parsePlace(location));
  useEffect(() => {
    const handlePopState = (): void => setPlace(parsePlace(location));
    addEventListener('popstate', handlePopState);
    return () => removeEventListener('popstate', handlePopState);
  }, []);
  const go = useCallback(
    (next: Place) => {
      const address = buildPlaceUrl(next, personId);
      if (address !== location.pathname + location.search + location.hash)
        history.pushState(null, '', address);
      setPlace(next);
    },
    [personId],
  );
  return { place, go };
}

/** A value in local storage, which all windows of the browser share. */
export function useStoredValue<T>(key: string, initialValue: T): [T, (change: (before: T) => T) => void] {
  const load = useCallback((): T => {
    const text = localStorage.getItem(key);
    if (text === null) return initialValue;
    const storedValue: T = JSON.parse(text);
    return storedValue;
    // The initial value isn't a dependency, because callers never change it.
  }, [key]);
  const [value, setValue] = useState({ key, value: load() });
  const currentValue = value.key === key ? value.value : load();
  useEffect(() => {
    const handleStorage = (event: StorageEvent): void => {
      if (event.key === key) setValue({ key, value: load() });
    };
    addEventListener('storage', handleStorage);
    return () => removeEventListener('storage', handleStorage);
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
  return [currentValue, change];
}
