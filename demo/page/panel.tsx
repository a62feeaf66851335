import { CloseIcon } from '@domain-steward/slack-workspace/page';
import type { ComponentChildren } from 'preact';

interface PanelProps {
  title: string;
  topic: string;
  close(): void;
  /** Above the list. */
  filter?: ComponentChildren;
  items: readonly { readonly key: string | number; readonly item: ComponentChildren }[];
  /** Shown while the list is empty. */
  empty: string;
}

/** A list at the side: everything the bot sent elsewhere than to Slack. */
export function Panel({ title, topic, close, filter, items, empty }: PanelProps) {
  const name = title.toLowerCase();
  return (
    <section class="pane host-pane panel" aria-labelledby="panel-title">
      <header class="pane-head">
        <h2 id="panel-title">{title}</h2>
        <p class="topic">{topic}</p>
        <button type="button" class="icon-button" aria-label={`Close the ${name}`} onClick={close}>
          <CloseIcon />
        </button>
      </header>
      {filter}
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reachable by keyboard */}
      <section class="panel-list" aria-label={`List of ${name}`} tabIndex={0}>
        {items.length === 0 && <p class="quiet">{empty}</p>}
        <ol>
          {items.map(({ key, item }) => (
            <li key={key}>{item}</li>
          ))}
        </ol>
      </section>
    </section>
  );
}

export function Fact({ name, value }: { name: string; value: string | null }) {
  if (value === null) return null;
  return (
    <div>
      <dt>{name}</dt>
      <dd>{value}</dd>
    </div>
  );
}

export function Sent({ title, value }: { title: string; value: unknown }) {
  if (value === null || value === undefined || value === '') return null;
  return (
    <>
      <h3>{title}</h3>
      <pre class="pre">{typeof value === 'string' ? value : JSON.stringify(value, null, 2)}</pre>
    </>
  );
}
