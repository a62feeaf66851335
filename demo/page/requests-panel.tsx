import { CloseIcon } from '@domain-steward/slack-workspace/page';
import { useState } from 'preact/hooks';
import type { SeenRequest } from './host.ts';

interface RequestsPanelProps {
  requests: readonly SeenRequest[];
  close(): void;
}

/**
 * The requests that reached the sandbox of the domain service, which show that exactly one was
 * sent.
 */
export function RequestsPanel({ requests, close }: RequestsPanelProps) {
  const [lookups, setLookups] = useState(false);
  const shown = requests.filter((request) => lookups || !isLookup(request));
  return (
    <section class="pane host-pane requests" aria-labelledby="requests-title">
      <header class="pane-head">
        <h2 id="requests-title">Requests</h2>
        <p class="topic">What reached the domain service</p>
        <button type="button" class="icon-button" aria-label="Close the requests" onClick={close}>
          <CloseIcon />
        </button>
      </header>
      <label class="choice requests-filter">
        <input
          type="checkbox"
          checked={lookups}
          onChange={({ currentTarget }) => setLookups(currentTarget.checked)}
        />
        Show look-ups of expiry dates (RDAP) too
      </label>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reachable by keyboard */}
      <section class="requests-list" aria-label="List of requests" tabIndex={0}>
        {shown.length === 0 && <p class="quiet">Nothing yet. A request appears here when one is sent.</p>}
        <ol>
          {shown.map((request) => (
            <li key={request.n}>
              <Request request={request} />
            </li>
          ))}
        </ol>
      </section>
    </section>
  );
}

/** Whether it is a request to the registry, which is no task of the service. */
export function isLookup({ task }: SeenRequest): boolean {
  return task?.startsWith('rdap.') === true;
}

function Request({ request }: { request: SeenRequest }) {
  const { method, path, task, name, status, answerCode, durationMs, fault, carriedOut, ctid, user, context } =
    request;
  const good = status !== null && status < 300;
  const mark = durationMs === null ? 'open' : good ? 'good' : 'bad';
  return (
    <details class="request">
      <summary>
        <span class="request-line">
          <b class={`method method-${method.toLowerCase()}`}>{method}</b> <code>{path}</code>
        </span>
        <span class="request-line quiet">
          <span class={`answer answer-${mark}`}>
            {durationMs === null ? 'under way' : (status ?? 'no answer')}
            {answerCode !== null && ` ${answerCode}`}
          </span>
          {[task, name].filter((part) => part !== null).join(' ')}
        </span>
      </summary>
      <dl>
        <Fact
          name="Account"
          value={user === null ? null : `${user}${context === null ? '' : `, context ${context}`}`}
        />
        <Fact name="Order" value={ctid} />
        <Fact name="Carried out" value={carriedOut ? 'yes' : 'no'} />
        <Fact name="Fault" value={fault} />
        <Fact name="Took" value={durationMs === null ? null : `${Math.round(durationMs)} ms`} />
      </dl>
      <Sent title="Query" value={lines(Object.entries(request.query))} />
      <Sent title="Headers" value={lines(Object.entries(request.headers))} />
      <Sent title="Body" value={request.body} />
    </details>
  );
}

/** One line for each name, as in a request. */
function lines(pairs: readonly (readonly [string, string | readonly string[]])[]): string {
  return pairs.map(([name, value]) => `${name}: ${String(value)}`).join('\n');
}

function Fact({ name, value }: { name: string; value: string | null }) {
  if (value === null) return null;
  return (
    <div>
      <dt>{name}</dt>
      <dd>{value}</dd>
    </div>
  );
}

function Sent({ title, value }: { title: string; value: unknown }) {
  if (value === null || value === undefined || value === '') return null;
  return (
    <>
      <h3>{title}</h3>
      <pre class="pre">{typeof value === 'string' ? value : JSON.stringify(value, null, 2)}</pre>
    </>
  );
}
