import type { ComponentType } from 'preact';
import { type JsonObject, textOf } from '../json.ts';
import { ActionsBlock } from './actions.tsx';
import { ChartBlock } from './chart.tsx';
import { InputBlock } from './input.tsx';
import { RichTextBlock } from './rich-text.tsx';
import { DataTableBlock } from './table.tsx';
import { ContextBlock, HeaderBlock, SectionBlock } from './text.tsx';

const KINDS: Readonly<Record<string, ComponentType<{ block: JsonObject }>>> = {
  actions: ActionsBlock,
  context: ContextBlock,
  data_table: DataTableBlock,
  data_visualization: ChartBlock,
  divider: () => <hr />,
  header: HeaderBlock,
  input: InputBlock,
  rich_text: RichTextBlock,
  section: SectionBlock,
};

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
  return <div class={`block block-${type}`}>{Kind && <Kind block={block} />}</div>;
}
