import type { Cryptography } from './cryptography.ts';
import { createLedgerCheck } from './ledger.ts';
import { parseObject, splitLines } from './lines.ts';
import { createReceiptCheck } from './receipt.ts';
import {
  createDifferenceCollector,
  type DifferenceCollector,
  type Report,
  type TrustedInputs,
} from './report.ts';
import { type Header, parseHeader, parseLine } from './shapes.ts';

const CHECK_FACTORIES = { ledger: createLedgerCheck, receipt: createReceiptCheck };

const EMPTY_REPORT = {
  ...{ file: undefined, key: undefined, order: undefined, events: undefined, seals: undefined },
  ...{ anchored: undefined, erasures: [], proved: [], differences: [], notes: [] },
};

function createInconclusiveReport(reason: string): Report {
  return { ...EMPTY_REPORT, verdict: 'cannot_tell', unknown: [reason] };
}

/** @param chunks the bytes of a ledger or a receipt */
export async function verify(
  chunks: AsyncIterable<Uint8Array>,
  trusted: TrustedInputs,
  cryptography: Cryptography,
): Promise<Report> {
  const lines = splitLines(chunks);
  const differences = createDifferenceCollector();
  try {
    const firstLine = await lines.next();
    const object = firstLine.done === true ? undefined : parseObject(firstLine.value);
    const header = object && parseHeader(object);
    if (header === undefined)
      return createInconclusiveReport(
        'The file does not begin like a ledger or a receipt: it is neither, or its first line was changed.',
      );
    if (header === 'version')
      return createInconclusiveReport(
        'This program does not support the version of the file. Use a newer domain-steward-verify.',
      );
    return await verifyLines(header, lines, trusted, cryptography, differences);
  } catch (error) {
    // `TextDecoder` throws a TypeError if bytes are invalid.
    if (!(error instanceof TypeError)) throw error;
    differences.add('changed', 'the file contains bytes that are not valid UTF-8');
    return { ...EMPTY_REPORT, verdict: 'differs', differences: differences.all, unknown: [] };
  }
}

async function verifyLines(
  header: Header,
  lines: AsyncIterable<string>,
  trusted: TrustedInputs,
  cryptography: Cryptography,
  differences: DifferenceCollector,
): Promise<Report> {
  const check = await CHECK_FACTORIES[header.kind](header, trusted, cryptography, differences);
  let lineNumber = 1;
  for await (const text of lines) {
    lineNumber += 1;
    const object = parseObject(text);
    const line = object && parseLine(object);
    if (line === undefined)
      differences.add('changed', `line ${lineNumber} cannot be read as a line of a ${header.kind}`);
    else await check.checkLine(line, lineNumber);
  }
  const { explanations = [], ...result } = await check.finish();
  const hasNoDifferences = differences.all.length === 0;
  return {
    ...result,
    file: header.kind,
    key: header.key,
    order: header.order,
    verdict: hasNoDifferences ? (result.unknown.length === 0 ? 'proved' : 'cannot_tell') : 'differs',
    differences: differences.all,
    proved: hasNoDifferences ? result.proved : [],
    notes: [
      ...(hasNoDifferences
        ? [
            ...formatErasures(result.erasures, header.kind),
            ...result.notes,
            ...formatTrustNotes(trusted, result),
          ]
        : []),
      ...explanations,
    ],
  };
}

function formatErasures(erasures: Report['erasures'], kind: Header['kind']): string[] {
  const texts = erasures.map(formatErasure);
  if (kind === 'ledger' || texts.length === 0) return texts;
  return [
    ...texts,
    'A receipt doesn’t include the event that records the deletion, so the receipt alone doesn’t prove who deleted the content, and when. The ledger includes that event.',
  ];
}

function formatErasure({ count, by, from, to }: Report['erasures'][number]): string {
  const when = from === to ? `at ${from}` : `between ${from} and ${to}`;
  return `The content of ${count} ${count === 1 ? 'event' : 'events'} was deleted by ${by} ${when}. ${count === 1 ? 'Its hash is' : 'Their hashes are'} still there, but signatures in it can no longer be verified.`;
}

function formatTrustNotes(trusted: TrustedInputs, { anchored }: Pick<Report, 'anchored'>): string[] {
  if (anchored !== undefined) return [];
  const anchorNote =
    'No matching anchor was given: a holder of the key could have rewritten the whole file, or cut off its end (--anchor).';
  if (trusted.key !== undefined) return [anchorNote];
  return [
    'The key wasn’t given, so its owner isn’t known: compare its fingerprint with the one that the bot shows (--key), because anyone can create such a file.',
    anchorNote,
  ];
}
