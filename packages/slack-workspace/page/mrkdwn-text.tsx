import type { ComponentChildren } from 'preact';
import { useMemo } from 'preact/hooks';
import { useChat } from './chat.ts';
import { getChannelName } from './conversation.ts';
import { formatDateToken, formatFullTime } from './dates.ts';
import { replaceShortcodes } from './emoji.ts';
import { type JsonObject, textOf } from './json.ts';
import { type Inline, type Paragraph, parseMrkdwn } from './mrkdwn.ts';
import { parsePlace } from './place.ts';

/** A text object: mrkdwn with its markup, plain text as it is. */
export function TextObject({ text }: { text: JsonObject | undefined }) {
  const words = textOf(text, 'text') ?? '';
  if (textOf(text, 'type') !== 'mrkdwn') return <>{replaceShortcodes(words)}</>;
  return <Mrkdwn text={words} verbatim={text?.['verbatim'] === true} />;
}

export function Mrkdwn({ text, verbatim = false }: { text: string; verbatim?: boolean }) {
  const paragraphs = useMemo(() => parseMrkdwn(text, { verbatim }), [text, verbatim]);
  return (
    <>
      {paragraphs.map((paragraph, index) => (
        <MrkdwnParagraph key={index} paragraph={paragraph} />
      ))}
    </>
  );
}

function MrkdwnParagraph({ paragraph }: { paragraph: Paragraph }) {
  switch (paragraph.kind) {
    case 'preformatted':
      return <pre class="pre">{paragraph.text}</pre>;
    case 'quote':
      return (
        <blockquote>
          <Inlines list={paragraph.children} />
        </blockquote>
      );
    case 'lines':
      return (
        <div class="lines">
          <Inlines list={paragraph.children} />
        </div>
      );
  }
}

function Inlines({ list }: { list: readonly Inline[] }) {
  return (
    <>
      {list.map((piece, index) => (
        <InlinePiece key={index} piece={piece} />
      ))}
    </>
  );
}

function InlinePiece({ piece }: { piece: Inline }) {
  switch (piece.kind) {
    case 'text':
      return <>{piece.text}</>;
    case 'bold':
      return (
        <strong>
          <Inlines list={piece.children} />
        </strong>
      );
    case 'italic':
      return (
        <em>
          <Inlines list={piece.children} />
        </em>
      );
    case 'strike':
      return (
        <s>
          <Inlines list={piece.children} />
        </s>
      );
    case 'code':
      return <code>{piece.text}</code>;
    case 'emoji':
      return <Emoji name={piece.name} character={piece.character} />;
    case 'link':
      return <Link url={piece.url}>{piece.text}</Link>;
    case 'user':
      return <PersonMention id={piece.id} label={piece.label} />;
    case 'channel':
      return <ChannelMention id={piece.id} label={piece.label} />;
    case 'usergroup':
      return <GroupMention id={piece.id} label={piece.label} />;
    case 'broadcast':
      return <span class="mention mention-me">@{piece.range}</span>;
    case 'date':
      return <Moment {...piece} />;
  }
}

/** Screen readers read its name if the name says more than the character. */
function Emoji({ name, character }: { name: string; character: string }) {
  return (
    <span class="emoji" role="img" aria-label={name.replaceAll('_', ' ')}>
      {character}
    </span>
  );
}

/** Links to messages of this workspace stay in the page. */
function Link({ url, children }: { url: string; children: ComponentChildren }) {
  const { go } = useChat();
  const address = new URL(url, location.href);
  if (address.origin !== location.origin || !address.pathname.startsWith('/archives/')) {
    return (
      <a href={url} target="_blank" rel="noreferrer">
        {children}
      </a>
    );
  }
  return (
    <a
      href={url}
      onClick={(event) => {
        event.preventDefault();
        go(parsePlace(address));
      }}
    >
      {children}
    </a>
  );
}

export function PersonMention({ id, label }: { id: string; label?: string | undefined }) {
  const { users, me } = useChat();
  const name = users.get(id)?.real_name ?? label ?? id;
  return <span class={id === me.id ? 'mention mention-me' : 'mention'}>@{name}</span>;
}

function GroupMention({ id, label }: { id: string; label?: string | undefined }) {
  const { snapshot } = useChat();
  const handle = snapshot.usergroups.find((group) => group.id === id)?.handle;
  return <span class="mention">@{handle ?? label ?? id}</span>;
}

function ChannelMention({ id, label }: { id: string; label?: string | undefined }) {
  const { channels, users, me, go } = useChat();
  const channel = channels.get(id);
  if (channel === undefined) return <span class="mention">#{label ?? id}</span>;
  return (
    <button type="button" class="mention" onClick={() => go({ channel: id })}>
      #{getChannelName(channel, me.id, users)}
    </button>
  );
}

export function Moment({ at, format, url }: { at: number; format: string; url?: string }) {
  const { snapshot, me } = useChat();
  const time = (
    <time dateTime={new Date(at * 1_000).toISOString()} title={formatFullTime(at * 1_000, me.tz)}>
      {formatDateToken(at, format, snapshot.now, me.tz)}
    </time>
  );
  return url === undefined ? time : <Link url={url}>{time}</Link>;
}
