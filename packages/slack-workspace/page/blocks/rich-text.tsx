import { type JsonObject, numberOf, objectsOf, textOf } from '../json.ts';
import { Moment, PersonMention } from '../mrkdwn-text.tsx';

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
  const parts = objectsOf(element, 'elements').map((part, index) => <RichPart key={index} part={part} />);
  return textOf(element, 'type') === 'rich_text_preformatted' ? (
    <pre class="pre">{parts}</pre>
  ) : (
    <div class="lines">{parts}</div>
  );
}

function RichPart({ part }: { part: JsonObject }) {
  switch (textOf(part, 'type')) {
    case 'user':
      return <PersonMention id={textOf(part, 'user_id') ?? ''} />;
    case 'date':
      return (
        <Moment at={numberOf(part, 'timestamp') ?? 0} format={textOf(part, 'format') ?? '{date_short}'} />
      );
    default:
      return <>{textOf(part, 'text') ?? ''}</>;
  }
}
