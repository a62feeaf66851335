import { useId, useRef, useState } from 'preact/hooks';
import { MoreIcon } from './icons.tsx';

export interface MenuEntry {
  text: string;
  /** Unique; the text by default. */
  value?: string;
  run(): void;
}

interface MenuProps {
  label: string;
  entries: readonly MenuEntry[];
  /** The `action_id` that it replaces. */
  action?: string;
}

/** A button with a menu in the browser's top layer, so that no pane cuts it off. */
export function Menu({ label, entries, action }: MenuProps) {
  const id = useId();
  const [open, setOpen] = useState(false);
  const button = useRef<HTMLButtonElement>(null);
  const menu = useRef<HTMLDivElement>(null);
  const place = (): void => {
    const from = button.current?.getBoundingClientRect();
    const list = menu.current;
    if (from === undefined || list === null) return;
    const { width, height } = list.getBoundingClientRect();
    list.style.left = `${Math.max(8, Math.min(from.right - width, innerWidth - width - 8))}px`;
    list.style.top = `${from.bottom + height + 8 > innerHeight ? from.top - height - 4 : from.bottom + 4}px`;
    list.querySelector<HTMLElement>('[role=menuitem]')?.focus();
  };
  const move = (event: KeyboardEvent): void => {
    const items = [...(menu.current?.querySelectorAll<HTMLElement>('[role=menuitem]') ?? [])];
    const at = items.findIndex((item) => item.matches(':focus'));
    const next = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: items.length - 1 }[event.key];
    if (event.key === 'Tab') menu.current?.hidePopover();
    if (next === undefined) return;
    event.preventDefault();
    items[(next + items.length) % items.length]?.focus();
  };
  return (
    <>
      <button
        type="button"
        class="icon-button"
        ref={button}
        aria-label={label}
        title={label}
        aria-haspopup="menu"
        aria-expanded={open}
        popovertarget={id}
        data-action={action}
      >
        <MoreIcon />
      </button>
      <div
        id={id}
        ref={menu}
        popover="auto"
        role="menu"
        aria-label={label}
        class="menu"
        onKeyDown={move}
        onToggle={({ newState }) => {
          setOpen(newState === 'open');
          if (newState === 'open') place();
          else if (document.activeElement === document.body) button.current?.focus();
        }}
      >
        {entries.map(({ text, value = text, run }) => (
          <button
            key={value}
            data-value={value}
            type="button"
            role="menuitem"
            tabIndex={-1}
            onClick={() => {
              menu.current?.hidePopover();
              run();
            }}
          >
            {text}
          </button>
        ))}
      </div>
    </>
  );
}
