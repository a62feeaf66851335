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

describe('every command', () => {
  test('is listed by --help, and an unknown one is refused', async () => {
    const { code, output } = await run(['--help']);
    expect(code).toBe(0);
    for (const name of COMMANDS) expect(output).toMatch(new RegExp(`^ {2}${name}( |$)`, 'm'));
    const listed = [...output.matchAll(/^ {2}([a-z:-]+)/gm)].map(([, name]) => name);
    expect(listed).toEqual(COMMANDS);
    expect(await run([])).toMatchObject({ code: 2 });
    expect((await run(['bakcup'])).output).toMatch(/^Unknown command bakcup\./);
  });

  test.each(COMMANDS)(
    '%s prints its usage for --help and for invalid arguments, without a stack',
    async (name) => {
      const { code, output } = await run([name, '--help']);
      expect(code).toBe(0);
      expect(output).toMatch(
        new RegExp(`^Usage: npm run ${name}( -- [^ ].*)?\\n +node dist/cli\\.js ${name}( [^ ].*)?\\n\\n`),
      );
      expect(scripts[name]).toBe(`exec node dist/cli.js ${name}`);
      for (const wrong of [
        [name, '--wrong'],
        [name, 'one', 'two'],
      ]) {
        const refused = await run(wrong);
        expect(refused.code, refused.output).toBe(2);
        expect(refused.output).toContain(`\n\nUsage: npm run ${name}`);
        expect(refused.output).not.toMatch(/^\s+at /m);
      }
    },
  );

  test.each([
    [['forget-person', 'alice'], 'alice isn’t a Slack user id'],
    [['purge'], '--before DATE is missing'],
    [['purge', '--before', '2023-02-30'], '2023-02-30 isn’t a date'],
    [['purge', '--before', new Date().toISOString().slice(0, 10)], 'at least 30 days ago'],
  ])('with arguments %j is refused', async (args, message) => {
    const { code, output } = await run(args);
    expect(code).toBe(2);
    expect(output).toContain(message);
  });
});
