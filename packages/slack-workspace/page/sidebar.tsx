import type { Channel } from '../src/protocol.ts';
import { useChat } from './chat.ts';
import { countUnread, getChannelName, getChannelPlace, getPartnerId } from './conversation.ts';
import { LockIcon } from './icons.tsx';
import { Face } from './message.tsx';

/** Channels and direct messages. `chosen` is called after a choice, for narrow screens. */
export function Sidebar({ chosen }: { chosen: () => void }) {
  const { snapshot, me } = useChat();
  const isApp = (channel: Channel): boolean => getPartnerId(channel, me.id) === snapshot.bot.user_id;
  const channels = snapshot.channels.filter(({ is_im }) => !is_im);
  const direct = snapshot.channels.filter((channel) => channel.is_im && !isApp(channel));
  const apps = snapshot.channels.filter((channel) => channel.is_im && isApp(channel));
  return (
    <nav class="sidebar" aria-label="Channels and direct messages">
      <ChannelGroup title="Channels" channels={channels} chosen={chosen} />
      {direct.length > 0 && <ChannelGroup title="Direct messages" channels={direct} chosen={chosen} />}
      <ChannelGroup title="Apps" channels={apps} chosen={chosen} />
    </nav>
  );
}

interface GroupProps {
  title: string;
  channels: readonly Channel[];
  chosen(): void;
}

function ChannelGroup({ title, channels, chosen }: GroupProps) {
  return (
    <section>
      <h2>{title}</h2>
      <ul>
        {channels.map((channel) => (
          <li key={channel.id}>
            <ChannelLink channel={channel} chosen={chosen} />
          </li>
        ))}
      </ul>
    </section>
  );
}

function ChannelLink({ channel, chosen }: { channel: Channel; chosen(): void }) {
  const { snapshot, users, me, place, go, newestReadTs, target } = useChat();
  const { count, mentions } = countUnread(
    channel,
    snapshot.messages[channel.id] ?? [],
    me.id,
    newestReadTs[channel.id],
  );
  const partner = getPartnerId(channel, me.id);
  const current = place.channel === channel.id;
  const next = target?.kind === 'channel' && target.channel === channel.id;
  const name = getChannelName(channel, me.id, users);
  const unread = count > 0 && !current;
  return (
    <button
      type="button"
      class={next ? 'channel-link next' : 'channel-link'}
      aria-current={current ? 'page' : undefined}
      data-unread={unread ? '' : undefined}
      onClick={() => {
        go(getChannelPlace(channel, me.id, snapshot.bot.user_id, count));
        chosen();
      }}
    >
      {partner === undefined ? (
        <span class="hash" aria-hidden="true">
          {channel.is_private ? <LockIcon /> : '#'}
        </span>
      ) : (
        <Face user={users.get(partner)} small />
      )}
      <span class="channel-name">{name}</span>
      {unread && mentions === 0 && <span class="for-screen-readers">, unread</span>}
      {unread && mentions > 0 && (
        <span class="count">
          {mentions}
          <span class="for-screen-readers"> for you</span>
        </span>
      )}
    </button>
  );
}
