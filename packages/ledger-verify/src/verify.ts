import type { Cryptography } from './cryptography.ts';
import { createLedgerCheck } from './ledger.ts';
import { linesOf, readObject } from './lines.ts';
import { createReceiptCheck } from './receipt.ts';
import { collectDifferences, type Differences, type Report, type TrustedInputs } from './report.ts';
import { type Header, readHeader, readLine } from './shapes.ts';

const CHECKS = { ledger: createLedgerCheck, receipt: createReceiptCheck };

const NOTHING = {
  ...{ file: undefined, key: undefined, order: undefined, events: undefined, seals: undefined },
  ...{ anchored: undefined, erasures: [], proved: [], differences: [], notes: [] },
};

function cannotTell(why: string): Report {
  return { ...NOTHING, verdict: 'cannot_tell', unknown: [why] };
}

/**
 * Verifies a ledger or a receipt.
 * @param pieces the bytes of the file
 */
export async function verify(
  pieces: AsyncIterable<Uint8Array>,
  trusted: TrustedInputs,
  cryptography: Cryptography,
): Promise<Report> {
  const lines = linesOf(pieces);
  const differences = collectDifferences();
  try {
    const first = await lines.next();
    const object = first.done === true ? undefined : readObject(first.value);
    const header = object && readHeader(object);
    if (header === undefined)
      return cannotTell(
        'The file does not begin as a ledger or a receipt does: it is neither, or its first line was changed.',
      );
    if (header === 'version')
      return cannotTell(
        'The file is of a later version than this program knows. Use a newer domain-steward-verify.',
      );
    return await verifyLines(header, lines, trusted, cryptography, differences);
  } catch (error) {
    // `TextDecoder` throws this if bytes are invalid.
    if (!(error instanceof TypeError)) throw error;
    differences.add('changed', 'the file has bytes that are no text (UTF-8)');
    return { ...NOTHING, verdict: 'differs', differences: differences.all, unknown: [] };
  }
}

async function verifyLines(
  header: Header,
  lines: AsyncIterable<string>,
  trusted: TrustedInputs,
  cryptography: Cryptography,
  differences: Differences,
): Promise<Report> {
  const check = await CHECKS[header.kind](header, trusted, cryptography, differences);
  let number = 1;
  for await (const text of lines) {
    number += 1;
    const object = readObject(text);
    const line = object && readLine(object);
    if (line === undefined)
      differences.add('changed', `line ${number} cannot be read as a line of a ${header.kind}`);
    else await check.line(line, number);
  }
  const { explained = [], ...found } = await check.end();
  const fits = differences.all.length === 0;
  return {
    ...found,
    file: header.kind,
    key: header.key,
    order: header.order,
    verdict: fits ? (found.unknown.length === 0 ? 'proved' : 'cannot_tell') : 'differs',
    differences: differences.all,
    // Counts as verified only if everything matches.
    proved: fits ? found.proved : [],
    notes: [
      ...(fits
        ? [...erasureTexts(found.erasures, header.kind), ...found.notes, ...outsideText(trusted, found)]
        : []),
      ...explained,
    ],
  };
}

function erasureTexts(erasures: Report['erasures'], kind: Header['kind']): string[] {
  const texts = erasures.map(erasureText);
  if (kind === 'ledger' || texts.length === 0) return texts;
  return [
    ...texts,
    'A receipt doesn’t include the event that records the deletion, so who deleted it, and when, is only what the remaining lines claim. The ledger includes that event.',
  ];
}

function erasureText({ count, by, from, to }: Report['erasures'][number]): string {
  const when = from === to ? `at ${from}` : `between ${from} and ${to}`;
  return `The content of ${count} ${count === 1 ? 'event' : 'events'} was deleted by ${by} ${when}. ${count === 1 ? 'Its hash is' : 'Their hashes are'} still there, but signatures in it can no longer be verified.`;
}

/** Notes for a file that was checked without known keys or anchors. */
function outsideText(known: TrustedInputs, { anchored }: Pick<Report, 'anchored'>): string[] {
  const isDated = anchored !== undefined;
  return [
    ...(known.key === undefined && !isDated
      ? [
          'The key wasn’t given, so its owner isn’t known: compare its fingerprint with the one that the bot shows (--key), because anyone can make such a file.',
        ]
      : []),
    ...(!isDated
      ? [
          'No matching anchor was given: a holder of the key could have rewritten the whole file, or cut off its end (--anchor).',
        ]
      : []),
  ];
}
