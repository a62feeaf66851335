import { useEffect } from 'preact/hooks';
import type { Channel } from '../src/protocol.ts';
import { useChat } from './chat.ts';
import { Composer } from './composer.tsx';
import {
  getChannelName,
  getPartnerId,
  getReplies,
  getTopLevelMessages,
  summarizeThreads,
} from './conversation.ts';
import { Home } from './home.tsx';
import { CloseIcon, LockIcon } from './icons.tsx';
import { MessageList } from './message-list.tsx';

/** Marks messages as read while they are on the screen. */
function useReading(key: string, ts: string | undefined): void {
  const { markRead } = useChat();
  useEffect(() => {
    if (ts === undefined) return;
    const look = (): void => {
      if (document.visibilityState === 'visible') markRead(key, ts);
    };
    look();
    document.addEventListener('visibilitychange', look);
    return () => document.removeEventListener('visibilitychange', look);
  }, [key, ts, markRead]);
}

/** A channel or direct message. The direct message with the app also has its Home tab. */
export function ChannelPane({ channel, back }: { channel: Channel; back: () => void }) {
  const { snapshot, users, me, place, go } = useChat();
  const messages = snapshot.messages[channel.id] ?? [];
  const isApp = getPartnerId(channel, me.id) === snapshot.bot.user_id;
  // The Home tab doesn't mark messages as read.
  useReading(channel.id, isApp && place.home === true ? undefined : messages.at(-1)?.ts);
  const name = getChannelName(channel, me.id, users);
  const title = channel.is_im ? name : `#${name}`;
  return (
    <section class="pane channel" aria-labelledby="channel-title">
      <header class="pane-head">
        <button
          type="button"
          class="icon-button back"
          aria-label="Back to the list of channels"
          onClick={back}
        >
          ←
        </button>
        <h2 id="channel-title">
          {channel.is_private && !channel.is_im && <LockIcon />}
          {title}
        </h2>
        {channel.topic !== '' && <p class="topic">{channel.topic}</p>}
        {isApp && (
          <nav class="tabs" aria-label={`Tabs of ${name}`}>
            <button
              type="button"
              aria-current={place.home === true ? 'page' : undefined}
              onClick={() => go({ channel: channel.id, home: true })}
            >
              Home
            </button>
            <button
              type="button"
              aria-current={place.home === true ? undefined : 'page'}
              onClick={() => go({ channel: channel.id })}
            >
              Messages
            </button>
          </nav>
        )}
      </header>
      {isApp && place.home === true ? (
        <Home />
      ) : (
        <>
          <MessageList
            id={channel.id}
            label={`Messages in ${title}`}
            messages={getTopLevelMessages(messages)}
            threads={summarizeThreads(messages)}
            marked={place.message}
          />
          <Composer key={channel.id} channel={channel.id} label={`Message to ${title}`} />
        </>
      )}
    </section>
  );
}

export function ThreadPane({ channel, ts }: { channel: Channel; ts: string }) {
  const { snapshot, users, me, place, go } = useChat();
  const messages = snapshot.messages[channel.id] ?? [];
  const parent = messages.find((message) => message.ts === ts);
  const replies = getReplies(messages, ts);
  useReading(`${channel.id}/${ts}`, replies.at(-1)?.ts);
  const close = (): void => go({ channel: channel.id });
  const name = getChannelName(channel, me.id, users);
  return (
    <section
      class="pane thread"
      aria-labelledby="thread-title"
      onKeyDown={(event) => {
        if (event.key === 'Escape') close();
      }}
    >
      <header class="pane-head">
        <h2 id="thread-title">Thread</h2>
        <p class="topic">{channel.is_im ? name : `#${name}`}</p>
        <button type="button" class="icon-button" aria-label="Close the thread" onClick={close}>
          <CloseIcon />
        </button>
      </header>
      <MessageList
        id={`${channel.id}/${ts}`}
        label="Messages in the thread"
        messages={[...(parent ? [parent] : []), ...replies]}
        inThread
        marked={place.message}
      />
      <Composer key={ts} channel={channel.id} thread={ts} label="Reply in the thread" />
    </section>
  );
}
