import { useState } from 'preact/hooks';
import type { SeenRequest } from '../host.ts';
import { Fact, Panel, Sent } from './panel.tsx';

interface RequestsPanelProps {
  requests: readonly SeenRequest[];
  close(): void;
}

/** The requests to the sandbox of the domain service, which show that exactly one was sent. */
export function RequestsPanel({ requests, close }: RequestsPanelProps) {
  const [lookups, setLookups] = useState(false);
  const shown = requests.filter((request) => lookups || !isLookup(request));
  return (
    <Panel
      title="Requests"
      topic="Requests to the domain service"
      close={close}
      filter={
        <label class="choice requests-filter">
          <input
            type="checkbox"
            checked={lookups}
            onChange={({ currentTarget }) => setLookups(currentTarget.checked)}
          />
          Show look-ups of expiry dates (RDAP) too
        </label>
      }
      empty="Nothing yet. A request appears here when one is sent."
      items={shown.map((request) => ({ key: request.n, item: <Request request={request} /> }))}
    />
  );
}

/** Whether it is a registry lookup, not a task of the service. */
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

/** One line per name, as in a request. */
function lines(pairs: readonly (readonly [string, string | readonly string[]])[]): string {
  return pairs.map(([name, value]) => `${name}: ${String(value)}`).join('\n');
}
