import { createReadStream } from 'node:fs';
import { parseArgs } from 'node:util';
import { parseAnchor, parseFingerprint } from './arguments.ts';
import { nodeCryptography } from './node-cryptography.ts';
import { formatReport, type Report, type TrustedInputs } from './report.ts';
import { verify } from './verify.ts';

const USAGE = `Usage: domain-steward-verify FILE [--key FINGERPRINT] [--anchor N:HEX]… [--roots FINGERPRINT,…] [--json]

Verifies a Domain Steward ledger or receipt. FILE may be - for standard input.
  --key     the fingerprint of the key that must have signed the seals (SHA256:…)
  --anchor  a seal's number and hash, as sent by the bot's webhook or posted in Slack; can be given more than once
  --roots   the fingerprints of the passkeys that are trusted to vouch for others
  --json    print the result as JSON
Exit code: 0 proved, 1 something doesn't match, 2 can't tell.`;

const EXIT_CODES: Readonly<Record<Report['verdict'], number>> = { proved: 0, differs: 1, cannot_tell: 2 };

class UsageError extends Error {}

function parseOption<Value>(
  text: string,
  parse: (text: string) => Value | undefined,
  errorMessage: string,
): Value {
  const value = parse(text);
  if (value === undefined) throw new UsageError(`${errorMessage}: ${text}`);
  return value;
}

function parseListOption(
  lists: readonly string[] | undefined,
  parse: (text: string) => string | undefined,
  errorMessage: string,
): string[] | undefined {
  return lists?.flatMap((list) => list.split(',').map((item) => parseOption(item, parse, errorMessage)));
}

function parseCommandLine(args: readonly string[]): {
  readonly file: string;
  readonly trusted: TrustedInputs;
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
  if (file === undefined || others.length > 0) throw new UsageError('Expected exactly one FILE.');
  const { key, anchor = [] } = values;
  const keyError = '--key expects a fingerprint (SHA256:…)';
  const anchorError = '--anchor expects a number and 64 hex digits (N:HEX)';
  return {
    file,
    trusted: {
      key: key === undefined ? undefined : parseOption(key, parseFingerprint, keyError),
      anchors: anchor.map((text) => parseOption(text, parseAnchor, anchorError)),
      roots: parseListOption(values.roots, parseFingerprint, '--roots expects fingerprints (SHA256:…)'),
    },
    json: values.json,
  };
}

async function main(args: readonly string[]): Promise<number> {
  const { file, trusted, json } = parseCommandLine(args);
  const report = await verify(
    file === '-' ? process.stdin : createReadStream(file),
    trusted,
    nodeCryptography,
  );
  process.stdout.write(
    json ? `${JSON.stringify(report, undefined, 2)}\n` : `${formatReport(report).join('\n')}\n`,
  );
  return EXIT_CODES[report.verdict];
}

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  const message = error instanceof Error ? error.message : String(error);
  const isUsageError = error instanceof UsageError || (error instanceof TypeError && 'code' in error);
  process.stderr.write(`${message}${isUsageError ? `\n\n${USAGE}` : ''}\n`);
  process.exitCode = 2;
}
