import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';
import type { Message as MessageData } from '../src/protocol.ts';
import { useChat } from './chat.ts';
import { isContinuation, type ThreadSummary } from './conversation.ts';
import { formatDayDivider, formatIsoDay, tsToMilliseconds } from './dates.ts';
import { Message, useArrowKeys } from './message.tsx';

interface MessageListProps {
  /** Identifies the list. Another list starts at its end. */
  id: string;
  label: string;
  messages: readonly MessageData[];
  threads?: ReadonlyMap<string, ThreadSummary>;
  inThread?: boolean;
  /** A message that was linked to. */
  marked?: string | undefined;
}

const NEAR_END_PX = 40;
const END_PADDING_PX = 20;

/** The scroll position at the end of a list. A last message that doesn't fit is shown from its beginning. */
function endOf(list: HTMLElement): number {
  const last = list.lastElementChild;
  const height = last instanceof HTMLElement ? last.offsetHeight : 0;
  const end = list.scrollHeight - list.clientHeight;
  return height > list.clientHeight ? list.scrollHeight - height - END_PADDING_PX : end;
}

/** A list of messages that stays at its end while new ones arrive. */
export function MessageList({ id, label, messages, threads, inThread, marked }: MessageListProps) {
  const { me, snapshot } = useChat();
  const { list, onKeyDown } = useArrowKeys();
  // Whether to scroll to new messages: not after the reader has scrolled up, until the end is reached again.
  const following = useRef({ on: true, top: 0 });
  useLayoutEffect(() => {
    following.current.on = true;
  }, [id]);
  useLayoutEffect(() => {
    const { current } = list;
    if (current === null || !following.current.on) return;
    current.scrollTop = endOf(current);
    following.current.top = current.scrollTop;
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
        const { current } = following;
        const isAtEnd = scrollHeight - scrollTop - clientHeight < NEAR_END_PX;
        current.on = isAtEnd || Math.abs(scrollTop - current.top) < 2;
      }}
    >
      {messages.map((message, index) => {
        const before = messages[index - 1];
        const at = tsToMilliseconds(message.ts);
        const newDay =
          before === undefined ||
          formatIsoDay(tsToMilliseconds(before.ts), me.tz) !== formatIsoDay(at, me.tz);
        return (
          <div key={message.ts} class="message-slot">
            {newDay && inThread !== true && (
              <p class="day-line">{formatDayDivider(at, snapshot.now, me.tz)}</p>
            )}
            <Message
              message={message}
              goesOn={!newDay && isContinuation(message, before)}
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
