import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { readFile, realpath, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { findHelm } from '../../.ci/helm.mjs';
import { parseVaultKeys } from '../../src/config/environment.ts';
import { startChild } from '../support/child.ts';
import { readCommandReply } from '../support/demo.ts';
import { type BotEnvironment, MAIN_BOT, startBotEnvironment } from '../support/harness.ts';

/*
 * Follows docs/install.md and the README to the letter: runs each command that works without a cluster or
 * Docker, and sets up a bot with Socket Mode.
 */

const CLI = new URL('../../src/cli.ts', import.meta.url);
const MAX_WAIT_MS = 120_000;

let s: BotEnvironment;
beforeAll(async () => {
  s = await startBotEnvironment();
}, MAX_WAIT_MS);
afterAll(async () => {
  // When run as root, this path is a link to another folder.
  await rm(await realpath(join(s.folder, 'data', 'postgres')), { recursive: true, force: true });
  await s.stop();
});

/** The commands in shell blocks, without duplicates. */
function listShellCommands(...documents: readonly string[]): string[] {
  const blocks = documents.flatMap((path) => [
    ...readFileSync(path, 'utf8').matchAll(/^```sh\n(.*?)^```/gms),
  ]);
  return [...new Set(blocks.flatMap(([, lines = '']) => lines.trim().split('\n')))];
}

const sh = (command: string, cwd?: string) => execFileSync('sh', ['-c', command], { encoding: 'utf8', cwd });
const helm = findHelm();
const expectDockerStage = (name: string) =>
  expect(readFileSync('Dockerfile', 'utf8')).toContain(` AS ${name}\n`);
const expectFilesExist = (command: string) => {
  for (const [, file = ''] of command.matchAll(/-f (\S+)/g)) expect(existsSync(file), file).toBe(true);
};
/** How each command is tested: by a function, in the Socket Mode test below, or in CI. */
const COMMAND_TESTS: Readonly<Record<string, 'Socket Mode test' | 'CI' | ((command: string) => unknown)>> = {
  // On a clean clone, .ci/run starts with `npm ci`. Another test starts the demo.
  'npm ci': 'CI',
  'npm ci && npm run demo': 'CI',
  'npm run demo -- --watch': 'CI',
  'npm test': 'CI',
  'npm run manifest -- --socket': (command) => expect(sh(command)).toContain('socket_mode_enabled: true'),
  'npm run manifest -- --url https://steward.example.com': (command) =>
    expect(sh(command)).toContain('https://steward.example.com/slack/events'),
  'cp .env.example .env': 'Socket Mode test',
  'npm start': 'Socket Mode test',
  'npm run doctor': 'Socket Mode test',
  'echo "$(date +%Y-%m):$(openssl rand -base64 32)"': (command) =>
    expect(parseVaultKeys(sh(command).trim())).toHaveLength(1),
  // Tested without Docker: the build stage or the files of the command exist.
  'docker build --target embedded -t domain-steward:embedded .': () => expectDockerStage('embedded'),
  'docker run -d --name steward --env-file .env -v steward:/data domain-steward:embedded': () =>
    expectDockerStage('embedded'),
  'docker exec steward node dist/cli.js doctor': 'Socket Mode test',
  'docker compose --project-directory . -f deploy/compose.yml up -d': expectFilesExist,
  'docker compose --project-directory . -f deploy/compose.yml exec bot node dist/cli.js doctor':
    expectFilesExist,
  'HOST=steward.example.com docker compose --project-directory . -f deploy/compose.yml -f deploy/compose.proxy.yml up -d':
    expectFilesExist,
  // Tested without a cluster, if kubectl and Helm are installed.
  'kubectl create secret generic steward --from-env-file=secrets.env': (command) => {
    if (spawnSync('kubectl', ['version', '--client']).status !== 0) return;
    writeFileSync(join(s.folder, 'secrets.env'), 'DATABASE_URL=postgresql://db/steward\n');
    expect(sh(`${command} --dry-run=client -o yaml`, s.folder)).toContain('DATABASE_URL:');
  },
  'helm install steward deploy/helm/domain-steward --set existingSecret=steward --set settings.SERVICE_JSON_URL=https://service.example/v1 --set settings.APPROVERS=U024BE7LH':
    (command) =>
      helm !== undefined &&
      expect(sh(command.replace('helm install', `${helm} template`))).toContain('kind: Deployment'),
};
const commands = listShellCommands('README.md', 'docs/install.md');

test('every command of the README and docs/install.md has a test', () => {
  expect(commands.toSorted()).toEqual(Object.keys(COMMAND_TESTS).toSorted());
});

test.each(commands)('%s', (command) => {
  const commandTest = COMMAND_TESTS[command];
  if (typeof commandTest === 'function') commandTest(command);
});

test('a bot set up by the Socket Mode guide creates its key and responds, and doctor reports Ready', {
  timeout: MAX_WAIT_MS,
}, async () => {
  sh(`cp .env.example ${join(s.folder, '.env')}`);
  const tokens: Readonly<Record<string, string>> = {
    SLACK_BOT_TOKEN: s.workspace.botToken,
    SLACK_APP_TOKEN: s.workspace.appToken,
  };
  const example = await readFile(join(s.folder, '.env'), 'utf8');
  // As the guide says, replace only the placeholders.
  const filledEnv = example.replace(
    /^([A-Z_]+)=.*….*$/gm,
    (_line, name: string) => `${name}=${tokens[name]}`,
  );
  expect(filledEnv).not.toMatch(/^[A-Z_]+=.*(?:…|undefined)/m);
  await writeFile(join(s.folder, '.env'), filledEnv);
  // Use the local workspace and registry instead of Slack and IANA.
  const { SLACK_API_URL, PORT, RDAP_BOOTSTRAP_URL, WHOIS, DNS_SERVERS } = s.settings;
  const env = {
    ...Object.fromEntries(Object.keys(s.settings).map((name) => [name, undefined])),
    ...{ SLACK_API_URL, PORT, RDAP_BOOTSTRAP_URL, WHOIS, DNS_SERVERS },
  };
  const bot = await s.start(MAIN_BOT, env);
  const alice = s.workspace.as('U0ALICE');
  expect(await readCommandReply(s.workspace, alice, '/domain help')).toContain('/domain watch');
  expect(await readCommandReply(s.workspace, alice, '/domain link')).toContain('SERVICE_JSON_URL');

  const keyFile = join(s.folder, 'data', 'credentials.key');
  expect((await stat(keyFile)).mode & 0o777).toBe(0o600);
  const key = (await readFile(keyFile, 'utf8')).trim();
  expect(bot.child.output()).toContain(keyFile);
  expect(bot.child.output()).not.toContain(key);

  const runCli = async (...args: string[]) => {
    const child = startChild(CLI, { args, env, cwd: s.folder });
    return { code: await child.ended, output: child.output() };
  };
  const doctor = await runCli('doctor');
  expect(doctor.output).toContain(`Key file: ${keyFile} encrypts credentials. No backup contains it`);
  expect(doctor.output.trim().split('\n').at(-1)).toBe('Ready.');
  expect(doctor.code).toBe(0);

  const backup = await runCli('backup', 'bot.backup');
  expect(backup.code, backup.output).toBe(0);
  const [id = '', secret = ''] = key.split(/:(.*)/);
  const bytes = await readFile(join(s.folder, 'bot.backup'));
  expect(bytes.includes(secret)).toBe(false);
  expect(bytes.includes(Buffer.from(secret, 'base64'))).toBe(false);
  expect(backup.output).toContain(id);
});
