import { createReadStream } from 'node:fs';
import { parseArgs } from 'node:util';
import { readAnchor, readFingerprint } from './arguments.ts';
import { nodeCryptography } from './node-cryptography.ts';
import { type Known, type Report, reportLines } from './report.ts';
import { verify } from './verify.ts';

/* `domain-steward-verify FILE`. Exit codes: 0 if verified, 1 if something doesn't match, 2 if it is unknown. */

const USAGE = `Usage: domain-steward-verify FILE [--key FINGERPRINT] [--anchor N:HEX]… [--roots FINGERPRINT,…] [--json]

Verifies a ledger or a receipt of Domain Steward. FILE may be - for the standard input.
  --key     the fingerprint of the key that has to have signed the seals (SHA256:…)
  --anchor  a seal's number and its hash, as the bot's webhook or its line in Slack has it; may be given several times
  --roots   the fingerprints of the passkeys that may vouch for others
  --json    the result as JSON
Exit code: 0 proved, 1 something does not fit, 2 cannot tell.`;

const EXIT_CODES: Readonly<Record<Report['verdict'], number>> = { proved: 0, differs: 1, cannot_tell: 2 };

class UsageError extends Error {}

function readOption<Value>(text: string, reader: (text: string) => Value | undefined, wanted: string): Value {
  const value = reader(text);
  if (value === undefined) throw new UsageError(`${wanted}: ${text}`);
  return value;
}

function readList(
  lists: readonly string[] | undefined,
  reader: (text: string) => string | undefined,
  wanted: string,
): string[] | undefined {
  return lists?.flatMap((list) => list.split(',').map((each) => readOption(each, reader, wanted)));
}

function readCommandLine(args: readonly string[]): {
  readonly file: string;
  readonly known: Known;
  readonly json: boolean;
} {
  const options = {
    key: { type: 'string' },
    anchor: { type: 'string', multiple: true },
    roots: { type: 'string', multiple: true },
    json: { type: 'boolean', default: false },
  } as const;
  const { values, positionals } = parseArgs({ args: [...args], options, allowPositionals: true });
  const [file, ...others] = positionals;
  if (file === undefined || others.length > 0) throw new UsageError('Which file is to be verified?');
  const { key, anchor = [] } = values;
  const wantedKey = '--key wants a fingerprint (SHA256:…)';
  const wantedAnchor = '--anchor wants a number and 64 hex digits (N:HEX)';
  return {
    file,
    known: {
      key: key === undefined ? undefined : readOption(key, readFingerprint, wantedKey),
      anchors: anchor.map((text) => readOption(text, readAnchor, wantedAnchor)),
      roots: readList(values.roots, readFingerprint, '--roots wants fingerprints (SHA256:…)'),
    },
    json: values.json,
  };
}

async function main(args: readonly string[]): Promise<number> {
  const { file, known, json } = readCommandLine(args);
  const report = await verify(file === '-' ? process.stdin : createReadStream(file), known, nodeCryptography);
  process.stdout.write(
    json ? `${JSON.stringify(report, undefined, 2)}\n` : `${reportLines(report).join('\n')}\n`,
  );
  return EXIT_CODES[report.verdict];
}

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  const message = error instanceof Error ? error.message : String(error);
  const isUsage = error instanceof UsageError || (error instanceof TypeError && 'code' in error);
  process.stderr.write(`${message}${isUsage ? `\n\n${USAGE}` : ''}\n`);
  process.exitCode = 2;
}
