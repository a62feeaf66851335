import { useCallback, useEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { Snapshot } from '../src/protocol.ts';
import { ChannelPane, ThreadPane } from './channel.tsx';
import { type Chat, ChatProvider } from './chat.ts';
import { FormDialog } from './form-dialog.tsx';
import { Guide, HintsProvider } from './guide.tsx';
import { latestDigest, latestRenewal, progressOf, storyChannel } from './guide-steps.ts';
import { type Live, useHints, useLive, usePlace, useStored } from './hooks.ts';
import { CloseIcon } from './icons.tsx';
import { type Place, readPerson } from './place.ts';
import { isLookup, RequestsPanel } from './requests-panel.tsx';
import { Sidebar } from './sidebar.tsx';
import { Topbar } from './topbar.tsx';

/** The one who asks opens the page first. */
const FIRST_PERSON = 'U0ALICE';
const PERSON_KEY = 'steward.person';

function personAtStart(): string {
  return readPerson(location.hash) ?? sessionStorage.getItem(PERSON_KEY) ?? FIRST_PERSON;
}

/** The page: reads what there is for a person, and waits until it is there. */
export function App() {
  const [person, setPerson] = useState(personAtStart);
  const live = useLive(person);
  const { snapshot } = live;
  const become = useCallback((id: string) => {
    sessionStorage.setItem(PERSON_KEY, id);
    setPerson(id);
  }, []);
  // While another person's view is read, the one before stays instead of an empty page.
  const last = useRef(snapshot);
  const shown = snapshot ?? last.current;
  last.current = shown;
  if (shown === undefined)
    return (
      <p class="starting">{live.online ? 'Opening the workspace…' : 'The workspace does not answer.'}</p>
    );
  return <Workspace snapshot={shown} live={live} become={become} />;
}

interface WorkspaceProps {
  snapshot: Snapshot;
  live: Live;
  become(id: string): void;
}

interface GuideMemory {
  closed: boolean;
  /** `ts` of results and digests that were looked at. */
  seen: readonly string[];
}
const NEW_GUIDE: GuideMemory = { closed: false, seen: [] };
const NO_READS: Readonly<Record<string, string>> = {};

function Workspace({ snapshot, live, become }: WorkspaceProps) {
  const users = useMemo(() => new Map(snapshot.users.map((user) => [user.id, user])), [snapshot.users]);
  const channels = useMemo(
    () => new Map(snapshot.channels.map((channel) => [channel.id, channel])),
    [snapshot.channels],
  );
  const me = users.get(snapshot.me);
  const { place: wanted, go } = usePlace(snapshot.me);
  const [reads, changeReads] = useStored(`steward.reads.${snapshot.me}`, NO_READS);
  const [guide, changeGuide] = useStored('steward.guide', NEW_GUIDE);
  const [panelOpen, setPanelOpen] = useState(false);
  const [listShown, setListShown] = useState(false);
  const [warning, setWarning] = useState<string>();
  const hints = useHints();

  const place: Place =
    wanted.channel !== undefined && channels.has(wanted.channel)
      ? wanted
      : { channel: storyChannel(snapshot) ?? snapshot.channels[0]?.id ?? '' };
  // The address says who one is, so that it can be opened again.
  useEffect(() => {
    const named = new URLSearchParams(location.hash.slice(1));
    if (named.get('as') === snapshot.me) return;
    named.set('as', snapshot.me);
    history.replaceState(null, '', `${location.pathname}${location.search}#${named}`);
  }, [snapshot.me]);
  useEffect(() => {
    document.title = `${channels.get(place.channel ?? '')?.name ?? ''} · ${me?.real_name ?? ''} · ${snapshot.team.name}`;
  }, [place.channel, me, channels, snapshot.team.name]);

  const progress = progressOf({ snapshot, place, requests: live.requests, seen: guide.seen });
  useSeen(snapshot, place, (ts) =>
    changeGuide((before) =>
      before.seen.includes(ts) ? before : { ...before, seen: [...before.seen.slice(-20), ts] },
    ),
  );

  const markRead = useCallback(
    (key: string, ts: string) =>
      changeReads((before) => ((before[key] ?? '') >= ts ? before : { ...before, [key]: ts })),
    [changeReads],
  );
  const warn = useCallback((text: string) => setWarning(text), []);
  const channel = channels.get(place.channel ?? '');
  if (me === undefined || channel === undefined) return <p class="starting">Nobody is here.</p>;
  const chat: Chat = {
    snapshot,
    me,
    users,
    channels,
    place,
    go,
    target: guide.closed ? undefined : progress.target,
    warn,
    reads,
    markRead,
  };
  const view = snapshot.views.at(-1);
  const togglePanel = (): void => setPanelOpen((open) => !open);
  return (
    <ChatProvider value={chat}>
      <HintsProvider value={hints}>
        <div class="workspace" data-list={listShown ? '' : undefined}>
          <Topbar
            clock={live.clock}
            setClock={live.setClock}
            become={become}
            requestCount={live.requests.filter((request) => !isLookup(request)).length}
            panel={{ open: panelOpen, toggle: togglePanel }}
            guide={{
              open: !guide.closed,
              toggle: () => changeGuide((before) => ({ ...before, closed: !before.closed })),
            }}
          />
          {!live.online && (
            <p class="offline" role="alert">
              The workspace does not answer. Connecting again…
            </p>
          )}
          {!guide.closed && (
            <Guide progress={progress} close={() => changeGuide((before) => ({ ...before, closed: true }))} />
          )}
          <div class="panes">
            <Sidebar chosen={() => setListShown(false)} />
            <main>
              <ChannelPane channel={channel} back={() => setListShown(true)} />
              {place.thread !== undefined && <ThreadPane channel={channel} ts={place.thread} />}
              {panelOpen && <RequestsPanel requests={live.requests} close={togglePanel} />}
            </main>
          </div>
        </div>
        {warning !== undefined && <Toast text={warning} close={() => setWarning(undefined)} />}
        {view && <FormDialog key={view.id} view={view} />}
      </HintsProvider>
    </ChatProvider>
  );
}

/** Notes when the story's result or digest is on the screen. */
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
  useEffect(() => {
    if (result !== undefined) note(result);
    if (listed !== undefined) note(listed);
  }, [result, listed]);
}

const TOAST_MS = 8_000;

function Toast({ text, close }: { text: string; close(): void }) {
  useEffect(() => {
    const timer = setTimeout(close, TOAST_MS);
    return () => clearTimeout(timer);
  }, [text]);
  return (
    <div class="toast" role="alert">
      <span>{text}</span>
      <button type="button" class="icon-button" aria-label="Dismiss" onClick={close}>
        <CloseIcon />
      </button>
    </div>
  );
}
