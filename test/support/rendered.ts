/** Renders messages, views and blocks as the lines that a person reads, for snapshots. Ids and values are in braces. */
export function renderText(value: unknown): string {
  return linesOf(value).join('\n');
}

type Parts = Readonly<Record<string, unknown>>;

/** Keys that aren't listed with the details. */
const UNLISTED_KEYS = new Set([
  'type',
  'verbatim',
  'emoji',
  'text',
  'label',
  'title',
  'placeholder',
  'style',
]);
const MARKS: Readonly<Record<string, readonly [before: string, after: string]>> = {
  header: ['# ', ''],
  button: ['[', ']'],
  input: ['', ':'],
};

function isParts(value: unknown): value is Parts {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isText(value: unknown): value is { readonly text: string } {
  return (
    isParts(value) &&
    typeof value['text'] === 'string' &&
    Object.keys(value).every((key) => TEXT_OBJECT_KEYS.has(key))
  );
}
const TEXT_OBJECT_KEYS = new Set(['type', 'text', 'verbatim', 'emoji']);

function linesOf(value: unknown): string[] {
  if (value === undefined || value === null) return [];
  if (isText(value)) return [value.text];
  if (Array.isArray(value)) return value.flatMap(linesOf);
  return isParts(value) ? linesOfParts(value) : [String(value)];
}

function linesOfParts(parts: Parts): string[] {
  if (parts['type'] === 'divider') return ['---'];
  const [before, after] = MARKS[String(parts['type'])] ?? ['', ''];
  const words = ['title', 'label', 'text', 'placeholder'].flatMap((key) => linesOf(parts[key]));
  const style = typeof parts['style'] === 'string' ? [`${parts['style']}`] : [];
  const inner = Object.entries(parts).filter(([key]) => !UNLISTED_KEYS.has(key));
  const details = [
    ...style,
    ...inner.flatMap(([key, each]) => (typeof each === 'object' ? [] : [`${key}=${each}`])),
  ];
  const nested = inner.flatMap(([, each]) => (typeof each === 'object' ? linesOf(each) : []));
  const shownDetails = details.length === 0 ? '' : ` {${details.join(' ')}}`;
  const head = `${words.length === 0 ? String(parts['type'] ?? '') : `${before}${words.join(' · ')}${after}`}${shownDetails}`;
  return [...(head.trim() === '' ? [] : [head]), ...nested.map((line) => `  ${line}`)];
}
