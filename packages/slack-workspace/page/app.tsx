import { useCallback, useEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { Snapshot } from '../src/protocol.ts';
import { ChannelPane, ThreadPane } from './channel.tsx';
import { type Chat, ChatProvider } from './chat.ts';
import { getFirstChannelId } from './conversation.ts';
import { FormDialog } from './form-dialog.tsx';
import { type LiveData, useLiveData, usePlace, useStoredValue } from './hooks.ts';
import type { UseHost } from './host.ts';
import { CloseIcon } from './icons.tsx';
import { type Place, parsePersonId } from './place.ts';
import { Sidebar } from './sidebar.tsx';
import { Topbar } from './topbar.tsx';

const PERSON_KEY = 'workspace.person';
const addNothing: UseHost = () => ({});

function personAtStart(): string {
  return parsePersonId(location.hash) ?? sessionStorage.getItem(PERSON_KEY) ?? '';
}

/** The page. It reads a person's data, and retries until the workspace is available. */
export function App({ useHost = addNothing }: { useHost?: UseHost }) {
  const [person, setPerson] = useState(personAtStart);
  const live = useLiveData(person);
  const { snapshot } = live;
  const become = useCallback((id: string) => {
    sessionStorage.setItem(PERSON_KEY, id);
    setPerson(id);
  }, []);
  // While another person's data is loading, the previous view stays, to avoid an empty page.
  const last = useRef(snapshot);
  const shown = snapshot ?? last.current;
  last.current = shown;
  if (shown === undefined)
    return (
      <p class="starting">{live.isOnline ? 'Opening the workspace…' : 'The workspace does not answer.'}</p>
    );
  return <Workspace snapshot={shown} live={live} become={become} useHost={useHost} />;
}

interface WorkspaceProps {
  snapshot: Snapshot;
  live: LiveData;
  become(id: string): void;
  useHost: UseHost;
}

const NO_READS: Readonly<Record<string, string>> = {};

function Workspace({ snapshot, live, become, useHost }: WorkspaceProps) {
  const users = useMemo(() => new Map(snapshot.users.map((user) => [user.id, user])), [snapshot.users]);
  const channels = useMemo(
    () => new Map(snapshot.channels.map((channel) => [channel.id, channel])),
    [snapshot.channels],
  );
  const me = users.get(snapshot.me);
  const { place: wanted, go } = usePlace(snapshot.me);
  const [newestReadTs, changeReads] = useStoredValue(`workspace.reads.${snapshot.me}`, NO_READS);
  const [listShown, setListShown] = useState(false);
  const [warning, setWarning] = useState<string>();

  const place: Place =
    wanted.channel !== undefined && channels.has(wanted.channel)
      ? wanted
      : { channel: getFirstChannelId(snapshot) ?? '' };
  // The URL contains the person, so that it can be opened again.
  useEffect(() => {
    const named = new URLSearchParams(location.hash.slice(1));
    if (named.get('as') === snapshot.me) return;
    named.set('as', snapshot.me);
    history.replaceState(null, '', `${location.pathname}${location.search}#${named}`);
  }, [snapshot.me]);
  useEffect(() => {
    document.title = `${channels.get(place.channel ?? '')?.name ?? ''} · ${me?.real_name ?? ''} · ${snapshot.team.name}`;
  }, [place.channel, me, channels, snapshot.team.name]);

  const host = useHost({ snapshot, place, listen: live.listen });
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
    target: host.target,
    formHelp: host.formHelp,
    warn,
    newestReadTs,
    markRead,
  };
  const view = snapshot.views.at(-1);
  return (
    <ChatProvider value={chat}>
      <div class="workspace" data-list={listShown ? '' : undefined}>
        <Topbar become={become}>{host.bar}</Topbar>
        {!live.isOnline && (
          <p class="offline" role="alert">
            The workspace does not answer. Connecting again…
          </p>
        )}
        {host.notice}
        <div class="panes">
          <Sidebar chosen={() => setListShown(false)} />
          <main>
            <ChannelPane channel={channel} back={() => setListShown(true)} />
            {place.thread !== undefined && <ThreadPane channel={channel} ts={place.thread} />}
            {host.pane}
          </main>
        </div>
      </div>
      {warning !== undefined && <Toast text={warning} close={() => setWarning(undefined)} />}
      {view && <FormDialog key={view.id} view={view} />}
    </ChatProvider>
  );
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
