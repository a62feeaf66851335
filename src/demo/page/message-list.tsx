import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';
import type { Message as MessageData } from '../workspace/protocol.ts';
import { useChat } from './chat.ts';
import { continues, type ThreadSummary } from './conversation.ts';
import { dayLine, dayOf, timeOf } from './dates.ts';
import { Message, useArrowKeys } from './message.tsx';

interface MessageListProps {
  /** What the list is of; another one starts at its end again. */
  id: string;
  label: string;
  messages: readonly MessageData[];
  threads?: ReadonlyMap<string, ThreadSummary>;
  inThread?: boolean;
  /** A message that was linked to. */
  marked?: string | undefined;
}

/** Messages under each other, kept at the end while new ones come. */
export function MessageList({ id, label, messages, threads, inThread, marked }: MessageListProps) {
  const { me, snapshot } = useChat();
  const { list, onKeyDown } = useArrowKeys();
  const atEnd = useRef(true);
  useLayoutEffect(() => {
    atEnd.current = true;
  }, [id]);
  useLayoutEffect(() => {
    const { current } = list;
    if (current !== null && atEnd.current) current.scrollTop = current.scrollHeight;
  });
  useEffect(() => {
    if (marked === undefined) return;
    const goal = list.current?.querySelector<HTMLElement>(`[data-ts="${CSS.escape(marked)}"]`);
    goal?.scrollIntoView({ block: 'center' });
    goal?.focus();
  }, [marked, id]);
  const last = messages.at(-1)?.ts;
  return (
    <div
      class="messages"
      ref={list}
      role="log"
      aria-label={label}
      onKeyDown={onKeyDown}
      onScroll={({ currentTarget: { scrollTop, scrollHeight, clientHeight } }) => {
        atEnd.current = scrollHeight - scrollTop - clientHeight < 40;
      }}
    >
      {messages.map((message, index) => {
        const before = messages[index - 1];
        const at = timeOf(message.ts);
        const newDay = before === undefined || dayOf(timeOf(before.ts), me.tz) !== dayOf(at, me.tz);
        return (
          <div key={message.ts} class="message-slot">
            {newDay && inThread !== true && <p class="day-line">{dayLine(at, snapshot.now, me.tz)}</p>}
            <Message
              message={message}
              goesOn={!newDay && continues(message, before)}
              thread={threads?.get(message.ts)}
              inThread={inThread === true}
              marked={message.ts === marked}
              tabStop={message.ts === last}
            />
          </div>
        );
      })}
    </div>
  );
}
