import { describe, expect, test } from 'vitest';
import { ownerLeftMessage, ownerlessBlocks } from '../../../src/slack/names/owner.view.ts';
import { buttonsOf, textOf } from '../../support/demo.ts';
import { countPhoneLines } from '../../support/reading.ts';
import { expectValidMessage, toWireBlocks } from '../kit/limits.ts';

const names = Array.from({ length: 100 }, (_, index) => `name-${index}.rest`);

describe('the alert about a person who left', () => {
  test('lists ten of 400 names and says how many follow', () => {
    const alert = ownerLeftMessage('U0CAROL', { names, total: 400 });
    expectValidMessage(alert);
    const blocks = toWireBlocks(alert.blocks);
    expect(alert.text).toMatch(
      /^<@U0CAROL> has left, so 400 names need an owner: name-0.rest, .* and 390 more$/,
    );
    expect(textOf({ ...alert, blocks })).toContain('To list all of them, use `/domain names owner:left`');
    expect(buttonsOf({ blocks })).toEqual(['owners_assign']);
    expect(countPhoneLines(blocks)).toBeLessThanOrEqual(14);
  });

  test('names a single name', () => {
    const { text } = ownerLeftMessage('U0CAROL', { names: ['cafe.rest'], total: 1 });
    expect(text).toBe('<@U0CAROL> has left, so 1 name needs an owner: cafe.rest');
  });
});

describe('the last line of a digest', () => {
  test.each([
    [{ withoutOwner: 0, ownerLeft: 0 }, undefined],
    [{ withoutOwner: 1, ownerLeft: 0 }, '1 name without an owner (`/domain names owner:none`)'],
    [
      { withoutOwner: 2, ownerLeft: 3 },
      '2 names without an owner (`/domain names owner:none`) · 3 names whose owner has left (`owner:left`)',
    ],
  ])('counts names without an owner: %j', (counts, text) => {
    expect(ownerlessBlocks(counts)[0]?.text?.text).toBe(text);
  });
});
