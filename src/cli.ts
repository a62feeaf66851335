import { runCommand } from './ops/commands/run-command.ts';

// Runs `npm run NAME -- …`, or `node dist/cli.js NAME …` without npm.
// Exit codes: 0 done, 1 failed or found a problem, 2 invalid arguments.

process.exitCode = await runCommand(process.argv.slice(2), {
  print: (line) => process.stdout.write(`${line}\n`),
  printError: (line) => process.stderr.write(`${line}\n`),
});
