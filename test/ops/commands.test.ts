import { readFile } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { runCommand } from '../../src/ops/commands/run-command.ts';

/* Usage texts of the operator's commands. */

async function run(args: readonly string[]) {
  let output = '';
  const write = (line: string) => {
    output += `${line}\n`;
  };
  return { code: await runCommand(args, { print: write, printError: write }), output };
}

const { scripts } = z
  .object({ scripts: z.record(z.string(), z.string()) })
  .parse(JSON.parse(await readFile(new URL('../../package.json', import.meta.url), 'utf8')));

const COMMANDS = [
  'manifest',
  'doctor',
  'backup',
  'restore',
  'migrate',
  'forget-person',
  'purge',
  'key:fingerprint',
];

describe('the command line', () => {
  test('lists every command for --help, and refuses an unknown one', async () => {
    const { code, output } = await run(['--help']);
    expect(code).toBe(0);
    for (const name of COMMANDS) expect(output).toMatch(new RegExp(`^ {2}${name}( |$)`, 'm'));
    const listed = [...output.matchAll(/^ {2}([a-z:-]+)/gm)].map(([, name]) => name);
    expect(listed).toEqual(COMMANDS);
    expect(await run([])).toMatchObject({ code: 2 });
    expect((await run(['bakcup'])).output).toMatch(/^Unknown command bakcup\./);
  });

  test.each(COMMANDS)(
    'prints the usage of %s for --help and for invalid arguments, without a stack trace',
    async (name) => {
      const { code, output } = await run([name, '--help']);
      expect(code).toBe(0);
      expect(output).toMatch(
        new RegExp(`^Usage: npm run ${name}( -- [^ ].*)?\\n +node dist/cli\\.js ${name}( [^ ].*)?\\n\\n`),
      );
      expect(scripts[name]).toBe(`exec node dist/cli.js ${name}`);
      for (const wrongArgs of [
        [name, '--wrong'],
        [name, 'one', 'two'],
      ]) {
        const refusal = await run(wrongArgs);
        expect(refusal.code, refusal.output).toBe(2);
        expect(refusal.output).toContain(`\n\nUsage: npm run ${name}`);
        expect(refusal.output).not.toMatch(/^\s+at /m);
      }
    },
  );

  test.each([
    [['forget-person', 'alice'], 'alice isn’t a Slack user id'],
    [['purge'], '--before DATE is missing'],
    [['purge', '--before', '2023-02-30'], '2023-02-30 isn’t a date'],
    [['purge', '--before', new Date().toISOString().slice(0, 10)], 'at least 30 days ago'],
  ])('refuses the arguments %j', async (args, message) => {
    const { code, output } = await run(args);
    expect(code).toBe(2);
    expect(output).toContain(message);
  });
});
