import {
  getJson,
  type HostContext,
  type HostParts,
  useReader,
  useStoredValue,
} from '@domain-steward/slack-workspace/page';
import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import type {
  CeremoniesAnswer,
  ClockState,
  Hints,
  ReceivedWebhook,
  RequestsAnswer,
  SeenRequest,
  WebhooksAnswer,
} from '../host.ts';
import { Guide, SandboxHints } from './guide.tsx';
import { pathsOf } from './paths/all.ts';
import { type PanelName, progressOf } from './paths/path.ts';
import { mergeRequests, requestsReadFrom } from './requests.ts';
import { isLookup, RequestsPanel } from './requests-panel.tsx';
import { TimeControl } from './time-control.tsx';
import { WebhooksPanel } from './webhooks-panel.tsx';

interface GuideMemory {
  closed: boolean;
  /** The title of the chosen path. */
  path?: string;
  seen: readonly string[];
}
const NEW_GUIDE: GuideMemory = { closed: false, seen: [] };
const MAX_SEEN = 30;

/** The demo's additions to the workspace: the guided paths, the clock, requests and webhooks. */
export function useDemo({ snapshot, place, listen }: HostContext): HostParts {
  const { requests, webhooks, ceremonies, clock, setClock } = useSandbox(listen);
  const hints = useHints();
  const [panel, setPanel] = useState<PanelName>();
  const [guide, changeGuide] = useStoredValue('demo.guide', NEW_GUIDE);
  const closeGuide = (closed: boolean): void => changeGuide((before) => ({ ...before, closed }));

  const paths = pathsOf(snapshot);
  const path = paths.find(({ title }) => title === guide.path) ?? paths[0];
  const situation = { snapshot, place, requests, ceremonies, panel, seen: guide.seen };
  const progress = progressOf(path, situation);
  const news = path.seenNow(situation).filter((seen) => seen !== undefined && !guide.seen.includes(seen));
  useEffect(() => {
    if (news.length === 0) return;
    changeGuide((before) => ({
      ...before,
      seen: [...new Set([...before.seen, ...news.flatMap((seen) => seen ?? [])])].slice(-MAX_SEEN),
    }));
  }, [news.join()]);
  const target = guide.closed ? undefined : progress.target;
  const panelButton = (name: PanelName, title: string, count: number) => (
    <button
      type="button"
      class={target?.kind === 'panel' && target.panel === name ? 'top-button next' : 'top-button'}
      aria-pressed={panel === name}
      onClick={() => setPanel(panel === name ? undefined : name)}
    >
      {title} <span class="count">{count}</span>
    </button>
  );
  const closePanel = (): void => setPanel(undefined);
  return {
    target: target?.kind === 'time' || target?.kind === 'panel' ? undefined : target,
    bar: (
      <>
        {clock && <TimeControl clock={clock} moved={setClock} next={target?.kind === 'time'} />}
        <div class="topbar-buttons">
          {panelButton('requests', 'Requests', requests.filter((request) => !isLookup(request)).length)}
          {panelButton('webhooks', 'Webhooks', webhooks.length)}
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
        paths={paths}
        path={path}
        progress={progress}
        choose={(title) => changeGuide((before) => ({ ...before, path: title }))}
        close={() => closeGuide(true)}
      />
    ),
    pane:
      (panel === 'requests' && <RequestsPanel requests={requests} close={closePanel} />) ||
      (panel === 'webhooks' && <WebhooksPanel webhooks={webhooks} close={closePanel} />),
    formHelp: (form) => <SandboxHints {...form} hints={hints} />,
  };
}

/** The demo server's data, kept up to date; requests and webhooks newest first. */
function useSandbox(listen: HostContext['listen']) {
  const [requests, setRequests] = useState<readonly SeenRequest[]>([]);
  const [webhooks, setWebhooks] = useState<readonly ReceivedWebhook[]>([]);
  const [ceremonies, setCeremonies] = useState<readonly string[]>([]);
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
  const readWebhooks = useReader(
    useCallback(() => getJson<WebhooksAnswer>('/local/webhooks'), []),
    (answer) => setWebhooks(answer.webhooks),
  );
  const readCeremonies = useReader(
    useCallback(() => getJson<CeremoniesAnswer>('/local/ceremonies'), []),
    (answer) => setCeremonies(answer.ceremonies),
  );
  const readClock = useReader(
    useCallback(() => getJson<ClockState>('/local/time'), []),
    setClock,
  );
  useEffect(() => {
    const readAll = (): void => {
      readRequests();
      readWebhooks();
      readCeremonies();
      readClock();
    };
    readAll();
    return listen({
      onConnectionChange: (open) => {
        if (!open) return;
        // The demo may have been restarted, with an empty request log.
        setRequests([]);
        known.current = [];
        readAll();
      },
      onChange: ({ topic }) => {
        if (topic === 'host.requests') readRequests();
        if (topic === 'host.webhooks') readWebhooks();
        if (topic === 'host.ceremonies') readCeremonies();
        // Another window may have moved the clock.
        if (topic === 'host.time') readClock();
      },
    });
  }, [listen, readRequests, readWebhooks, readCeremonies, readClock]);
  return { requests, webhooks, ceremonies, clock, setClock };
}

/** The values that forms offer to fill in. */
function useHints(): Hints | undefined {
  const [hints, setHints] = useState<Hints>();
  useEffect(() => {
    getJson<Hints>('/local/hints').then(setHints, () => setHints(undefined));
  }, []);
  return hints;
}
