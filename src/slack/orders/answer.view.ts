import type { ModalView } from '@slack/types';
import { dropMissing } from '../../lib/collections.ts';
import type { ItemResult, Order, OrderItem, ResultMessage } from '../../orders/order.ts';
import type { StoredAnswer } from '../../orders/ports.ts';
import type { FileDescription } from '../files.view.ts';
import {
  button,
  capitalize,
  code,
  context,
  escapeLine,
  escapeText,
  formatCount,
  formatLocalTime,
  formatUtcDate,
  section,
} from '../kit/blocks.ts';
import { noticeView, preformattedBlock } from '../kit/form.ts';

/* The service's answer, in the service's words: the order shows a summary, and a button shows the whole answer. */

/** The path of a nested field looks like `owner.user`. */
type AnswerField = readonly [path: string, value: string];

export function listAnswerFields(data: unknown, path = ''): AnswerField[] {
  if (data === undefined || data === null || data === '') return [];
  if (Array.isArray(data)) {
    if (data.every((element) => typeof element !== 'object' || element === null)) {
      const texts = data.filter((element) => element !== null && element !== '').map(String);
      return texts.length === 0 ? [] : [[path, texts.join(', ')]];
    }
    return data.flatMap((element, index) =>
      listAnswerFields(element, data.length === 1 ? path : joinPath(path, index + 1)),
    );
  }
  if (typeof data !== 'object') return [[path, String(data)]];
  return Object.entries(data).flatMap(([name, value]) => listAnswerFields(value, joinPath(path, name)));
}

function joinPath(path: string, name: string | number): string {
  return path === '' ? String(name) : `${path}.${name}`;
}

/** *Full response* shows all fields. */
const MAX_LISTED_FIELDS = 12;

export function formatFieldName(path: string): string {
  const words = path
    .replace(/([a-z0-9])([A-Z])/g, '$1 $2')
    .replace(/[_.]+/g, ' ')
    .toLowerCase();
  return capitalize(escapeLine(words, 100));
}

const ISO_DATE_OR_TIME = /^\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d))?$/;

export function isDateOrTime(value: string): boolean {
  return ISO_DATE_OR_TIME.test(value) && !Number.isNaN(Date.parse(value));
}

/** The first date whose path contains `expir`. */
export function findExpiry(data: unknown): Date | undefined {
  const [, value] =
    listAnswerFields(data).find(([path, text]) => /expir/i.test(path) && isDateOrTime(text)) ?? [];
  return value === undefined ? undefined : new Date(value);
}

function formatValue(value: string): string {
  if (!isDateOrTime(value)) return escapeLine(value, 300);
  const date = new Date(value);
  return value.length === 'YYYY-MM-DD'.length ? formatUtcDate(date) : formatLocalTime(date);
}

/** The object that an answer is about, such as `User nora, 4`. Empty if the answer names none. */
function formatObject({ object }: ItemResult): string {
  const name = [object?.type, object?.value].filter((part) => part !== undefined && part !== '').join(' ');
  const recordCountText = object?.summary === undefined ? '' : formatCount(object.summary, 'record');
  return escapeLine([name, recordCountText].filter((part) => part !== '').join(', '));
}

export function otherObjectLines({ name, result }: OrderItem): string[] {
  const value = result?.object?.value ?? name;
  return result === undefined || value === name || value === '' ? [] : [`For: ${formatObject(result)}`];
}

function answerFieldLines(result: ItemResult): string[] {
  const { data, hasFullAnswer } = result;
  const fields = listAnswerFields(data);
  const sortedFields = fields.toSorted(([, a], [, b]) => Number(isDateOrTime(b)) - Number(isDateOrTime(a)));
  const hiddenCount = fields.length - MAX_LISTED_FIELDS;
  const objectText = formatObject(result);
  return dropMissing([
    objectText !== '' && `For: ${objectText}`,
    // The path is empty if the data is a single value.
    ...sortedFields
      .slice(0, MAX_LISTED_FIELDS)
      .map(([path, value]) => `• ${path === '' ? '' : `${formatFieldName(path)}: `}${formatValue(value)}`),
    hiddenCount > 0 && `• and ${hiddenCount} more`,
    data === undefined &&
      hasFullAnswer === true &&
      objectText === '' &&
      'The response has more than is shown here.',
  ]);
}

/** The fields of the answers. If there are several items, their names are headings. */
export function answerLines({ items }: Order, formatName: (name: string) => string): string[] {
  return items.flatMap(({ name, result }) => {
    const fieldLines = result === undefined ? [] : answerFieldLines(result);
    return fieldLines.length === 0 || items.length === 1
      ? fieldLines
      : [`*${escapeText(formatName(name))}*`, ...fieldLines];
  });
}

/** Formats the kind of a status or message. Kinds other than SUCCESS are bold. */
export function formatKind(kind: string | undefined): string | undefined {
  if (kind === undefined || kind.trim() === '') return undefined;
  return kind.toUpperCase() === 'SUCCESS' ? escapeLine(kind, 40) : `*${escapeLine(kind, 40)}*`;
}

/** For example, “*NOTICE* `MSG13003` The user is notified. (user kim, 4)”. */
export function messageLine({ status, code: messageCode, text, objects = [] }: ResultMessage): string {
  const objectsText = objects.map(({ type, value }) => escapeLine(`${type} ${value}`.trim(), 200)).join(', ');
  return [
    formatKind(status),
    messageCode === undefined ? undefined : code(messageCode),
    text === undefined || text === '' ? undefined : escapeLine(text, 500),
    objectsText === '' ? undefined : `(${objectsText})`,
  ]
    .filter((part) => part !== undefined)
    .join(' ');
}

/** The button is shown if an answer has more than a status and a transaction ID, or is unreadable. */
export function answerButtons({ id, items }: Order) {
  return items.some(({ result }) => result?.hasFullAnswer === true)
    ? [button('order_data', 'Full response', id)]
    : [];
}

/** Longer answers are sent as a file. */
const MAX_VIEW_LENGTH = 12_000;

export function answersText(order: Order, answers: readonly StoredAnswer[]): string {
  const namedAnswers = answers.map(({ n, at, answer }) => {
    const item = order.items.find((candidate) => candidate.n === n);
    return { name: item?.name, ctid: item?.ctid, at: at.toISOString(), answer };
  });
  return JSON.stringify(namedAnswers, null, 2);
}

export function fitsView(answers: readonly StoredAnswer[]): boolean {
  return JSON.stringify(answers, null, 2).length <= MAX_VIEW_LENGTH;
}

export function answersView(order: Order, title: string, answers: readonly StoredAnswer[]): ModalView {
  return noticeView('Service response', [
    section(escapeText(title)),
    ...answers.flatMap(({ n, at, answer }) => [
      section(
        `*${escapeText(order.items.find((item) => item.n === n)?.name ?? '')}*, ${formatLocalTime(at)}`,
      ),
      preformattedBlock(JSON.stringify(answer, null, 2)),
    ]),
    context('As received, with the service’s field names. Secrets are masked.'),
  ]);
}

export const NO_FULL_RESPONSE = 'I didn’t store more of the response.';

export function answersFile(order: Order, title: string): FileDescription & { readonly filename: string } {
  return {
    filename: `domain-steward-order-${order.id}.json`,
    description: `Full response: ${escapeText(title)}, order ${code(order.id)}`,
    reply: `The response to order ${code(order.id)} is too long to show here. I sent you a file as a direct message.`,
  };
}
