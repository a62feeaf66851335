import { useChat } from './chat.ts';
import type { ClockState } from './host.ts';
import { WindowIcon } from './icons.tsx';
import { Face } from './message.tsx';
import { addressOf } from './place.ts';
import { TimeControl } from './time-control.tsx';

interface TopbarProps {
  clock: ClockState | undefined;
  setClock(clock: ClockState): void;
  become(userId: string): void;
  /** How many requests the panel lists. */
  requestCount: number;
  panel: { open: boolean; toggle(): void };
  guide: { open: boolean; toggle(): void };
}

export function Topbar({ clock, setClock, become, requestCount, panel, guide }: TopbarProps) {
  const { snapshot, me, users, target } = useChat();
  const people = [...users.values()].filter(({ is_bot }) => !is_bot);
  const next = target?.kind === 'person';
  return (
    <header class="topbar">
      <h1>{snapshot.team.name}</h1>
      {clock && <TimeControl clock={clock} moved={setClock} />}
      <div class="topbar-buttons">
        <button type="button" class="top-button" aria-pressed={panel.open} onClick={panel.toggle}>
          Requests <span class="count">{requestCount}</span>
        </button>
        <button type="button" class="top-button" aria-pressed={guide.open} onClick={guide.toggle}>
          Guide
        </button>
      </div>
      <div class={next ? 'who next' : 'who'}>
        <Face user={me} small />
        <label>
          <span>You are </span>
          <select value={me.id} onChange={({ currentTarget }) => become(currentTarget.value)}>
            {people.map(({ id, real_name, role }) => (
              <option key={id} value={id} selected={id === me.id}>
                {real_name} ({role})
              </option>
            ))}
          </select>
        </label>
        <a
          class="icon-button"
          href={addressOf({}, people.find(({ id }) => id !== me.id)?.id ?? me.id)}
          target="_blank"
          rel="noreferrer"
          aria-label="Open a second window as somebody else"
          title="Open a second window as somebody else"
        >
          <WindowIcon />
        </a>
      </div>
    </header>
  );
}
