import type { ComponentType } from 'preact';
import { type JsonObject, objectOf, objectsOf, textOf } from '../json.ts';
import { Mrkdwn, TextObject } from '../mrkdwn-text.tsx';
import { ActionsBlock } from './actions.tsx';
import { ChartBlock } from './chart.tsx';
import { InputBlock } from './input.tsx';
import { RichTextBlock } from './rich-text.tsx';
import { DataTableBlock, TableBlock } from './table.tsx';
import { AlertBlock, ContextBlock, HeaderBlock, ImageBlock, SectionBlock } from './text.tsx';

const KINDS: Readonly<Record<string, ComponentType<{ block: JsonObject }>>> = {
  actions: ActionsBlock,
  alert: AlertBlock,
  card: CardBlock,
  context: ContextBlock,
  data_table: DataTableBlock,
  data_visualization: ChartBlock,
  divider: () => <hr />,
  header: HeaderBlock,
  image: ImageBlock,
  input: InputBlock,
  markdown: ({ block }) => <Mrkdwn text={textOf(block, 'text') ?? ''} />,
  rich_text: RichTextBlock,
  section: SectionBlock,
  table: TableBlock,
};

/** The blocks of a message or view, in their order. */
export function Blocks({ blocks }: { blocks: readonly JsonObject[] }) {
  return (
    <>
      {blocks.map((block, index) => (
        <Block key={textOf(block, 'block_id') ?? index} block={block} />
      ))}
    </>
  );
}

function Block({ block }: { block: JsonObject }) {
  const type = textOf(block, 'type') ?? '';
  const Kind = Object.hasOwn(KINDS, type) ? KINDS[type] : undefined;
  return (
    <div class={`block block-${type}`}>{Kind ? <Kind block={block} /> : <UnknownBlock block={block} />}</div>
  );
}

/** What the page has no picture of is shown as it is, so that nobody misses it. */
function UnknownBlock({ block }: { block: JsonObject }) {
  return (
    <details class="unknown">
      <summary>
        A block of the type <code>{textOf(block, 'type') ?? 'without a type'}</code>, which this page does not
        draw
      </summary>
      <pre class="pre">{JSON.stringify(block, null, 2)}</pre>
    </details>
  );
}

function CardBlock({ block }: { block: JsonObject }) {
  const actions = objectsOf(block, 'actions');
  return (
    <div class="card">
      <strong>
        <TextObject text={objectOf(block, 'title')} />
      </strong>
      <TextObject text={objectOf(block, 'subtitle')} />
      <TextObject text={objectOf(block, 'body')} />
      {actions.length > 0 && <ActionsBlock block={{ ...block, elements: actions }} />}
    </div>
  );
}
