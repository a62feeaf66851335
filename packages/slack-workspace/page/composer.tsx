import { useEffect, useId, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { sendRequest } from './api.ts';
import { useChat } from './chat.ts';
import { canSend, findSuggestions, findTypedCommand, type Suggestion } from './commands.ts';

interface ComposerProps {
  channel: string;
  label: string;
  thread?: string;
}

export function Composer({ channel, label, thread }: ComposerProps) {
  const { snapshot, me, target, warn } = useChat();
  const id = useId();
  const [text, setText] = useState('');
  const [chosen, setChosen] = useState(0);
  const [hidden, setHidden] = useState(false);
  const field = useRef<HTMLTextAreaElement>(null);
  const wanted = thread === undefined && target?.kind === 'composer' ? target.text : undefined;
  const hints = thread === undefined ? snapshot.commands : [];
  const suggestions = hidden ? [] : findSuggestions(text, hints);
  const shown = suggestions.length > 0;
  const place = Math.min(chosen, suggestions.length - 1);
  const active = suggestions[place];
  const typed = shown ? undefined : findTypedCommand(text, hints);

  useLayoutEffect(() => {
    const { current } = field;
    if (current === null) return;
    current.style.height = 'auto';
    current.style.height = `${Math.min(current.scrollHeight, 160)}px`;
  }, [text]);
  useEffect(() => {
    document.getElementById(`${id}-${chosen}`)?.scrollIntoView({ block: 'nearest' });
  }, [chosen, id]);

  const write = (next: string): void => {
    setText(next);
    setChosen(0);
    setHidden(false);
    field.current?.focus();
  };
  const take = (suggestion: Suggestion | undefined): void => {
    if (suggestion !== undefined) write(suggestion.insertedText);
  };
  const send = async (): Promise<void> => {
    const message = text.trim();
    if (message === '') return;
    if (message.startsWith('/') && thread !== undefined) {
      warn('Slash commands do not work in threads. The menu of a message offers the same tasks.');
      return;
    }
    setText('');
    try {
      if (!message.startsWith('/')) {
        const reply = thread === undefined ? {} : { thread_ts: thread };
        await sendRequest('say', { user: me.id, channel, text: message, ...reply });
      } else {
        // A command's error is shown in the channel, only to this person.
        await sendRequest('command', { user: me.id, channel, text: message });
      }
    } catch (error) {
      setText(message);
      warn(error instanceof Error ? error.message : String(error));
    }
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.isComposing) return;
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (shown && step !== undefined) {
      event.preventDefault();
      setChosen((chosen + step + suggestions.length) % suggestions.length);
    } else if (shown && event.key === 'Tab' && !event.shiftKey) {
      event.preventDefault();
      take(active);
    } else if (shown && event.key === 'Escape') {
      event.stopPropagation();
      setHidden(true);
    } else if (event.key === 'Enter' && !event.shiftKey) {
      event.preventDefault();
      if (canSend(text, suggestions)) void send();
      else take(active);
    }
  };

  return (
    <form
      class="composer"
      onSubmit={(event) => {
        event.preventDefault();
        void send();
      }}
    >
      {shown && (
        <div class="suggestions" role="listbox" id={`${id}-list`} aria-label="Commands">
          {suggestions.map((suggestion, index) => (
            <div
              key={suggestion.command}
              id={`${id}-${index}`}
              role="option"
              tabIndex={-1}
              aria-selected={suggestion === active}
              onMouseDown={(event) => {
                event.preventDefault();
                take(suggestion);
              }}
            >
              <span class="suggestion-command">
                <strong>{suggestion.command}</strong> {suggestion.usage}
              </span>
              <span class="quiet">{suggestion.description}</span>
            </div>
          ))}
        </div>
      )}
      <p class="for-screen-readers" role="status">
        {shown ? `${suggestions.length} commands, choose with the arrow keys` : ''}
      </p>
      {typed && (
        <p class="usage" id={`${id}-usage`}>
          <strong>{typed.command}</strong> {typed.usage} <span class="quiet">{typed.description}</span>
        </p>
      )}
      {wanted !== undefined && text !== wanted && (
        <button type="button" class="guide-write next" onClick={() => write(wanted)}>
          Write <code>{wanted}</code>
        </button>
      )}
      <div class="composer-row">
        <textarea
          ref={field}
          rows={1}
          value={text}
          aria-label={label}
          placeholder={label}
          aria-autocomplete="list"
          aria-controls={shown ? `${id}-list` : undefined}
          aria-activedescendant={shown ? `${id}-${place}` : undefined}
          aria-describedby={typed ? `${id}-usage` : undefined}
          onInput={({ currentTarget }) => write(currentTarget.value)}
          onKeyDown={onKeyDown}
        />
        <button
          type="submit"
          class={
            wanted !== undefined && text === wanted ? 'button button-primary next' : 'button button-primary'
          }
          disabled={text.trim() === ''}
        >
          Send
        </button>
      </div>
    </form>
  );
}
