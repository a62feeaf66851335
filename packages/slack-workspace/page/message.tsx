import { useRef } from 'preact/hooks';
import type { FileInfo, Message as MessageData, User } from '../src/protocol.ts';
import { sendRequest } from './api.ts';
import { Blocks } from './blocks/blocks.tsx';
import { useChat } from './chat.ts';
import type { ThreadSummary } from './conversation.ts';
import { formatClockTime, formatFullTime, formatRelativeTime, tsToMilliseconds } from './dates.ts';
import { BubbleIcon, EyeIcon, FileIcon, GlobeIcon } from './icons.tsx';
import { Menu } from './menu.tsx';
import { Mrkdwn } from './mrkdwn-text.tsx';
import { MessageSurface } from './surface.tsx';

interface MessageProps {
  message: MessageData;
  /** The author is shown with the previous message. */
  goesOn?: boolean;
  thread?: ThreadSummary | undefined;
  inThread?: boolean;
  /** Linked to, so shown first. */
  marked?: boolean;
  /** The message that the Tab key selects in a list. */
  tabStop?: boolean;
}

export function Message({ message, goesOn, thread, inThread, marked, tabStop }: MessageProps) {
  const { users, me, go, place } = useChat();
  const author = users.get(message.user);
  const name = author?.real_name ?? 'Slackbot';
  const at = tsToMilliseconds(message.ts);
  const only = message.ephemeral_to !== undefined;
  return (
    <article
      class="message"
      data-ts={message.ts}
      data-only={only ? '' : undefined}
      data-marked={marked === true ? '' : undefined}
      data-open={place.thread === message.ts && inThread !== true ? '' : undefined}
      tabIndex={tabStop === true ? 0 : -1}
      aria-label={`${name}, ${formatClockTime(at, me.tz)}${only ? ', only visible to you' : ''}`}
    >
      {only && (
        <p class="only-you">
          <EyeIcon /> Only visible to you
        </p>
      )}
      <div class="message-side">
        {goesOn === true ? (
          <time class="side-time">{formatClockTime(at, me.tz)}</time>
        ) : (
          <Face user={author} />
        )}
      </div>
      <div class="message-main">
        {goesOn !== true && (
          <p class="byline">
            <strong>{name}</strong>
            {author?.is_bot === true && <span class="badge">APP</span>}
            <time dateTime={new Date(at).toISOString()} title={formatFullTime(at, me.tz)}>
              {formatClockTime(at, me.tz)}
            </time>
            {message.edited && <span class="edited">(edited)</span>}
          </p>
        )}
        <MessageSurface message={message}>
          {message.blocks.length > 0 ? (
            <Blocks blocks={message.blocks} />
          ) : (
            message.text !== '' && <Mrkdwn text={message.text} />
          )}
        </MessageSurface>
        {(message.files ?? []).map((file) => (
          <FileCard key={file.id} file={file} />
        ))}
        {thread && inThread !== true && (
          <ThreadBar message={message} thread={thread} open={() => go(threadPlace(message))} />
        )}
      </div>
      <Toolbar message={message} inThread={inThread === true} />
    </article>
  );
}

function threadPlace({ channel, ts, thread_ts }: MessageData) {
  return { channel, thread: thread_ts ?? ts };
}

function Toolbar({ message, inThread }: { message: MessageData; inThread: boolean }) {
  const { snapshot, me, go, warn } = useChat();
  if (message.ephemeral_to !== undefined) return null;
  const entries = snapshot.shortcuts.map(({ name, callback_id }) => ({
    text: name,
    run: () => {
      const { channel, ts } = message;
      sendRequest('shortcut', { user: me.id, callback_id, channel, ts }).then(
        ({ acked }) => {
          if (!acked) warn('The app did not respond. Try again.');
        },
        (error: unknown) => warn(String(error)),
      );
    },
  }));
  return (
    <div class="toolbar">
      {!inThread && (
        <button
          type="button"
          class="icon-button"
          aria-label="Reply in thread"
          title="Reply in thread"
          onClick={() => go(threadPlace(message))}
        >
          <BubbleIcon />
        </button>
      )}
      {entries.length > 0 && <Menu label="More actions" entries={entries} />}
    </div>
  );
}

interface ThreadBarProps {
  message: MessageData;
  thread: ThreadSummary;
  open(): void;
}

function ThreadBar({ message, thread, open }: ThreadBarProps) {
  const { users, snapshot, target, newestReadTs } = useChat();
  const unread = thread.lastReplyTs > (newestReadTs[`${message.channel}/${message.ts}`] ?? '');
  const next = target?.kind === 'thread' && target.ts === message.ts;
  return (
    <button type="button" class={next ? 'thread-bar next' : 'thread-bar'} onClick={open}>
      {thread.authorIds.slice(0, 3).map((id) => (
        <Face key={id} user={users.get(id)} small />
      ))}
      <strong>
        {thread.count} {thread.count === 1 ? 'reply' : 'replies'}
      </strong>
      {unread && <span class="new-mark">New</span>}
      <span class="quiet">{formatRelativeTime(tsToMilliseconds(thread.lastReplyTs), snapshot.now)}</span>
    </button>
  );
}

/** A person's picture: the first letter on their color. */
export function Face({ user, small }: { user: User | undefined; small?: boolean }) {
  const name = user?.real_name ?? 'Slackbot';
  const colour = [...(user?.id ?? '')].reduce((sum, letter) => sum + letter.charCodeAt(0), 0) % 6;
  const kind = user?.is_bot === true ? 'face-bot' : `face-${colour}`;
  return (
    <span class={`face ${kind} ${small === true ? 'face-small' : ''}`} aria-hidden="true">
      {user?.is_bot === true ? <GlobeIcon /> : name.charAt(0)}
    </span>
  );
}

function FileCard({ file }: { file: FileInfo }) {
  const url = new URL(file.url_private_download, location.href);
  const size = file.size < 1_024 ? `${file.size} bytes` : `${(file.size / 1_024).toFixed(1)} KB`;
  return (
    <a class="file" href={url.pathname} download={file.name}>
      <FileIcon />
      <span>
        <strong>{file.title || file.name}</strong>
        <small>
          {file.name}, {size}
        </small>
      </span>
    </a>
  );
}

/** Arrow keys move between the messages of a list. */
export function useArrowKeys() {
  const list = useRef<HTMLDivElement>(null);
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key !== 'ArrowUp' && event.key !== 'ArrowDown') return;
    const articles = [...(list.current?.querySelectorAll<HTMLElement>('article') ?? [])];
    const at = articles.findIndex((article) => article.matches(':focus'));
    if (at < 0) return;
    event.preventDefault();
    articles[at + (event.key === 'ArrowUp' ? -1 : 1)]?.focus();
  };
  return { list, onKeyDown };
}
