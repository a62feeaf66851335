import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { buildWebhook, type WebhookType, webhookBodySchema } from '../../src/outbox/webhooks/messages.ts';

const document = readFileSync('docs/webhooks.md', 'utf8');
const examples = [...document.matchAll(/^```json\n([\s\S]*?)^```$/gm)].map(([, json = '']) =>
  webhookBodySchema.parse(JSON.parse(json)),
);

test('the document shows a body of each type of webhook', () => {
  const types = webhookBodySchema.options.map(({ shape }): WebhookType => shape.type.value);
  expect(examples.map(({ type }) => type).toSorted()).toEqual(types.toSorted());
});

test.each(examples.map((example) => [example.type, example] as const))(
  '%s is shown as sent',
  (_type, example) => {
    const { text, ...data } = example.data;
    // Splitting and rebuilding the union would lose which data belongs to which type.
    const event = { type: example.type, at: new Date(example.timestamp), data } as Parameters<
      typeof buildWebhook
    >[0];
    expect(JSON.parse(buildWebhook(event).body)).toEqual(example);
  },
);
