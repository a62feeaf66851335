import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { getEmoji, replaceShortcodes } from '../../packages/slack-workspace/page/emoji.ts';

const sources = fileURLToPath(new URL('../../src/slack', import.meta.url));

test('the page knows every emoji that the bot uses', () => {
  const texts = readdirSync(sources, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts'))
    .map((file) => readFileSync(join(sources, file), 'utf8'));
  const used = new Set(
    texts.flatMap((text) => [...text.matchAll(/(?<!\w):([a-z_]{2,}):/g)].map(([, name]) => name ?? '')),
  );
  expect(used.size).toBeGreaterThan(5);
  expect([...used].filter((name) => getEmoji(name) === undefined)).toEqual([]);
});

test('text that only looks like an emoji stays unchanged', () => {
  expect(replaceShortcodes(':bell: at 10:30:00 :nothing: :constructor:')).toBe(
    '🔔 at 10:30:00 :nothing: :constructor:',
  );
});

test('the page’s font has every emoji, for machines without an emoji font', () => {
  const css = readFileSync(
    new URL('../../packages/slack-workspace/page/style/base.css', import.meta.url),
    'utf8',
  );
  const [, list = ''] = /unicode-range:\s*([^;]+);/.exec(css) ?? [];
  const ranges = list.split(',').map((range) => {
    const [first = '', last = first] = range.trim().slice(2).split('-');
    return [Number.parseInt(first, 16), Number.parseInt(last, 16)] as const;
  });
  const hasGlyph = (code: number) => ranges.some(([first, last]) => code >= first && code <= last);
  const source = readFileSync(
    new URL('../../packages/slack-workspace/page/emoji.ts', import.meta.url),
    'utf8',
  );
  const characters = [...source.matchAll(/: '([^']+)'/g)].flatMap(([, text = '']) => [...text]);
  expect(characters.filter((character) => !hasGlyph(character.codePointAt(0) ?? 0))).toEqual([]);
});
