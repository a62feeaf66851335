import { expect, test } from 'vitest';
import { type KeyEntry, keysMessage } from '../../../../src/slack/approvals/signing/keys.view.ts';
import { getVisibleText } from '../../../../src/slack/kit/blocks.ts';

const key = (n: number, more: Partial<KeyEntry>): KeyEntry => ({
  ...{ fingerprint: `SHA256:${String(n).padStart(43, 'x')}`, owner: `U0PERSON${n}`, label: 'Laptop' },
  ...{ publicKey: '', credential: '', host: 'localhost', addedAt: new Date('2026-11-25T12:00:00Z') },
  ...{ validity: 'yes', vouchedBy: ['U0ADA'], canVouch: false, canRevoke: true },
  ...more,
});

const renderPage = (keys: readonly KeyEntry[], offset: number) =>
  keysMessage({ keys, offset, hasRoots: true, canSignCharter: false, policyNotice: undefined }).blocks;

test('each of many keys is on one page, and one to vouch for comes first with its button', () => {
  const revoked = Array.from({ length: 25 }, (_, n) => key(n, { validity: 'revoked', canRevoke: false }));
  const valid = Array.from({ length: 25 }, (_, n) => key(100 + n, {}));
  const unvouched = key(999, { validity: 'not_vouched', canVouch: true });
  const keys = [...revoked, ...valid, unvouched];
  const pages = [0, 20, 40].map((offset) => renderPage(keys, offset));
  for (const blocks of pages) expect(blocks.length).toBeLessThanOrEqual(50);
  const texts = pages.map(getVisibleText);
  for (const { fingerprint } of keys)
    expect(texts.filter((text) => text.includes(fingerprint))).toHaveLength(1);
  const elements = (blocks: ReturnType<typeof renderPage> = []) =>
    blocks.flatMap((block) => (block.type === 'actions' ? block.elements : []));
  const vouchButton = { action_id: 'key_vouch', value: unvouched.fingerprint };
  expect(elements(pages[0])[0]).toMatchObject(vouchButton);
  const pageButtons = pages.map((blocks) =>
    elements(blocks).flatMap((each) =>
      'action_id' in each && /^keys_/.test(each.action_id ?? '') ? each.action_id : [],
    ),
  );
  expect(pageButtons).toEqual([['keys_next'], ['keys_previous', 'keys_next'], ['keys_previous']]);
  expect(
    elements(renderPage(keys.slice(0, 20), 0)).map((each) => 'action_id' in each && each.action_id),
  ).not.toContain('keys_next');
});
