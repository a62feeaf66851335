import {
  getJson,
  type HostParts,
  type Place,
  type Situation,
  useReader,
  useStored,
} from '@domain-steward/slack-workspace/page';
import type { Snapshot } from '@domain-steward/slack-workspace/protocol';
import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { Guide, SandboxHints } from './guide.tsx';
import { latestDigest, latestRenewal, progressOf } from './guide-steps.ts';
import type { ClockState, Hints, RequestsAnswer, SeenRequest } from './host.ts';
import { loseProgressOf, loseSeen } from './lose-steps.ts';
import { mergeRequests, requestsReadFrom } from './requests.ts';
import { isLookup, RequestsPanel } from './requests-panel.tsx';
import { TimeControl } from './time-control.tsx';

interface GuideMemory {
  closed: boolean;
  /** The second path was begun. */
  losing?: boolean;
  /** `ts` of results, digests and incidents that were looked at. */
  seen: readonly string[];
}
const NEW_GUIDE: GuideMemory = { closed: false, seen: [] };

/** What the demonstration adds to the workspace: the guided path, the clock, and the sandbox's requests. */
export function useDemo({ snapshot, place, listen }: Situation): HostParts {
  const { requests, clock, setClock } = useSandbox(listen);
  const hints = useHints();
  const [panelOpen, setPanelOpen] = useState(false);
  const [guide, changeGuide] = useStored('demo.guide', NEW_GUIDE);
  const togglePanel = (): void => setPanelOpen((open) => !open);
  const closeGuide = (closed: boolean): void => changeGuide((before) => ({ ...before, closed }));

  const losing = guide.losing === true;
  const situation = { snapshot, place, requests, seen: guide.seen };
  const path = losing ? loseProgressOf(situation) : progressOf(situation);
  useSeen(snapshot, place, (ts) =>
    changeGuide((before) =>
      before.seen.includes(ts) ? before : { ...before, seen: [...before.seen.slice(-20), ts] },
    ),
  );
  const target = guide.closed ? undefined : path.target;
  return {
    target: target?.kind === 'time' || target?.kind === 'theft' ? undefined : target,
    bar: (
      <>
        {clock && <TimeControl clock={clock} moved={setClock} next={target?.kind === 'time'} />}
        <div class="topbar-buttons">
          <button type="button" class="top-button" aria-pressed={panelOpen} onClick={togglePanel}>
            Requests <span class="count">{requests.filter((request) => !isLookup(request)).length}</span>
          </button>
          <button
            type="button"
            class="top-button"
            aria-pressed={!guide.closed}
            onClick={() => closeGuide(!guide.closed)}
          >
            Guide
          </button>
        </div>
      </>
    ),
    notice: !guide.closed && (
      <Guide
        path={path}
        losing={losing}
        lose={() => changeGuide((before) => ({ ...before, losing: true }))}
        close={() => closeGuide(true)}
      />
    ),
    pane: panelOpen && <RequestsPanel requests={requests} close={togglePanel} />,
    formHelp: (form) => <SandboxHints {...form} hints={hints} />,
  };
}

/** The sandbox's requests, newest first, and its clock, both kept up to date. */
function useSandbox(listen: Situation['listen']) {
  const [requests, setRequests] = useState<readonly SeenRequest[]>([]);
  const [clock, setClock] = useState<ClockState>();
  const known = useRef(requests);
  known.current = requests;
  const readRequests = useReader(
    useCallback(
      () => getJson<RequestsAnswer>(`/local/requests?after=${requestsReadFrom(known.current)}`),
      [],
    ),
    (fresh) => setRequests((before) => mergeRequests(before, fresh.requests)),
  );
  const readClock = useReader(
    useCallback(() => getJson<ClockState>('/local/time'), []),
    setClock,
  );
  useEffect(() => {
    const readAll = (): void => {
      readRequests();
      readClock();
    };
    readAll();
    return listen({
      connected: (open) => {
        if (!open) return;
        // The demonstration may have been restarted, with an empty request log.
        setRequests([]);
        known.current = [];
        readAll();
      },
      changed: ({ topic }) => {
        if (topic === 'host.requests') readRequests();
        // Another window may have moved the clock.
        if (topic === 'host.time') readClock();
      },
    });
  }, [listen, readRequests, readClock]);
  return { requests, clock, setClock };
}

/** The values that forms offer to fill in. */
function useHints(): Hints | undefined {
  const [hints, setHints] = useState<Hints>();
  useEffect(() => {
    getJson<Hints>('/local/hints').then(setHints, () => setHints(undefined));
  }, []);
  return hints;
}

/** Records when the story's result or digest is on the screen. */
function useSeen(snapshot: Snapshot, place: Place, note: (ts: string) => void): void {
  const order = latestRenewal(snapshot);
  const digest = latestDigest(snapshot);
  const result =
    order !== undefined &&
    ['SUCCEEDED', 'FAILED', 'UNKNOWN'].includes(order.state) &&
    place.thread === order.message.ts
      ? order.message.ts
      : undefined;
  const listed = digest !== undefined && place.channel === digest.channel ? digest.ts : undefined;
  const lost = loseSeen({ snapshot, place });
  useEffect(() => {
    if (result !== undefined) note(result);
    if (listed !== undefined) note(listed);
    if (lost !== undefined) note(lost);
  }, [result, listed, lost]);
}
