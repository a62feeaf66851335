import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { buildWebhook, type WebhookType, webhookBodySchema } from '../../src/outbox/webhooks/messages.ts';

const document = readFileSync('docs/webhooks.md', 'utf8');
const examples = [...document.matchAll(/^```json\n([\s\S]*?)^```$/gm)].map(([, json = '']) =>
  webhookBodySchema.parse(JSON.parse(json)),
);

test('docs/webhooks.md has an example of each webhook type', () => {
  const types = webhookBodySchema.options.map(({ shape }): WebhookType => shape.type.value);
  expect(examples.map(({ type }) => type).toSorted()).toEqual(types.toSorted());
});

test.each(examples.map((example) => [example.type, example] as const))(
  'the example of %s matches the sent body',
  (_type, example) => {
    const { text, ...data } = example.data;
    // The type of the rebuilt object no longer says which data belongs to which type.
    const event = { type: example.type, at: new Date(example.timestamp), data } as Parameters<
      typeof buildWebhook
    >[0];
    expect(JSON.parse(buildWebhook(event).body)).toEqual(example);
  },
);
