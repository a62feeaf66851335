import { emojiOf } from '../emoji.ts';
import { type JsonObject, numberOf, objectOf, objectsOf, textOf } from '../json.ts';
import { isAddress } from '../mrkdwn.ts';
import { ChannelMention, Emoji, GroupMention, Link, Moment, PersonMention } from '../mrkdwn-text.tsx';

export function RichTextBlock({ block }: { block: JsonObject }) {
  return (
    <>
      {objectsOf(block, 'elements').map((element, index) => (
        <RichElement key={index} element={element} />
      ))}
    </>
  );
}

function RichElement({ element }: { element: JsonObject }) {
  const parts = objectsOf(element, 'elements');
  switch (textOf(element, 'type')) {
    case 'rich_text_list': {
      const items = parts.map((item, index) => (
        <li key={index}>
          <RichParts parts={objectsOf(item, 'elements')} />
        </li>
      ));
      return textOf(element, 'style') === 'ordered' ? <ol>{items}</ol> : <ul>{items}</ul>;
    }
    case 'rich_text_quote':
      return (
        <blockquote>
          <RichParts parts={parts} />
        </blockquote>
      );
    case 'rich_text_preformatted':
      return (
        <pre class="pre">
          <RichParts parts={parts} />
        </pre>
      );
    default:
      return (
        <div class="lines">
          <RichParts parts={parts} />
        </div>
      );
  }
}

function RichParts({ parts }: { parts: readonly JsonObject[] }) {
  return (
    <>
      {parts.map((part, index) => (
        <RichPart key={index} part={part} />
      ))}
    </>
  );
}

function RichPart({ part }: { part: JsonObject }) {
  const text = textOf(part, 'text') ?? '';
  switch (textOf(part, 'type')) {
    case 'text':
      return <Styled style={objectOf(part, 'style')} text={text} />;
    case 'link': {
      const url = textOf(part, 'url') ?? '';
      return isAddress(url) ? <Link url={url}>{text || url}</Link> : text || url;
    }
    case 'user':
      return <PersonMention id={textOf(part, 'user_id') ?? ''} />;
    case 'channel':
      return <ChannelMention id={textOf(part, 'channel_id') ?? ''} />;
    case 'usergroup':
      return <GroupMention id={textOf(part, 'usergroup_id') ?? ''} />;
    case 'broadcast':
      return <span class="mention mention-me">@{textOf(part, 'range')}</span>;
    case 'emoji': {
      const name = textOf(part, 'name') ?? '';
      const character = emojiOf(name);
      return character === undefined ? <>:{name}:</> : <Emoji name={name} character={character} />;
    }
    case 'date':
      return (
        <Moment at={numberOf(part, 'timestamp') ?? 0} format={textOf(part, 'format') ?? '{date_short}'} />
      );
    default:
      return <>{text}</>;
  }
}

function Styled({ style, text }: { style: JsonObject | undefined; text: string }) {
  let shown = <>{text}</>;
  if (style?.['code'] === true) shown = <code>{shown}</code>;
  if (style?.['strike'] === true) shown = <s>{shown}</s>;
  if (style?.['italic'] === true) shown = <em>{shown}</em>;
  if (style?.['bold'] === true) shown = <strong>{shown}</strong>;
  return shown;
}
