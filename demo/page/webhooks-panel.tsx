import { formatClockTime, useChat } from '@domain-steward/slack-workspace/page';
import type { ReceivedWebhook } from '../host.ts';
import { Fact, Panel, Sent } from './panel.tsx';

/** Webhooks at the demo's receiver, which represents a pager or a second messenger. */
export function WebhooksPanel({ webhooks, close }: { webhooks: readonly ReceivedWebhook[]; close(): void }) {
  return (
    <Panel
      title="Webhooks"
      topic="What webhooks report"
      close={close}
      empty="Nothing yet. Webhooks report important events: incidents, last reminders, orders with an unknown outcome."
      items={webhooks.map((webhook) => ({ key: webhook.id, item: <Webhook webhook={webhook} /> }))}
    />
  );
}

function Webhook({ webhook: { id, at, type, text, body } }: { webhook: ReceivedWebhook }) {
  const { me } = useChat();
  return (
    <details class="request">
      <summary>
        <span class="request-line">
          <b class="method">{type}</b> <span class="quiet">{formatClockTime(at, me.tz)}</span>
        </span>
        <span class="request-line quiet">{text}</span>
      </summary>
      <dl>
        <Fact name="Signature" value="verified" />
        <Fact name="webhook-id" value={id} />
      </dl>
      <Sent title="Body" value={body} />
    </details>
  );
}
