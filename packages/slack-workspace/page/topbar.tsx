import type { ComponentChildren } from 'preact';
import { useChat } from './chat.ts';
import { WindowIcon } from './icons.tsx';
import { Face } from './message.tsx';
import { buildPlaceUrl } from './place.ts';

interface TopbarProps {
  become(userId: string): void;
  children: ComponentChildren;
}

export function Topbar({ become, children }: TopbarProps) {
  const { snapshot, me, users, target } = useChat();
  const people = [...users.values()].filter(({ is_bot }) => !is_bot);
  const next = target?.kind === 'person';
  return (
    <header class="topbar">
      <h1>{snapshot.team.name}</h1>
      {children}
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
          href={buildPlaceUrl({}, people.find(({ id }) => id !== me.id)?.id ?? me.id)}
          target="_blank"
          rel="noreferrer"
          aria-label="Open a second window as another person"
          title="Open a second window as another person"
        >
          <WindowIcon />
        </a>
      </div>
    </header>
  );
}
