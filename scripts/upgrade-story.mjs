// The upgrade from the last release: it works with people and stops, then this one starts on its database and goes on.
//   node scripts/upgrade-story.mjs                  from the last tag before this commit; without one there is nothing to do
//   node scripts/upgrade-story.mjs --folder FOLDER  from a release that is built there
// This release is to be built here.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ask, CHANNEL, linkAlice, reaches, startProcess, startSurroundings, until } from './story.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const run = (command, args, cwd, stdio = 'inherit') =>
  execFileSync(command, args, { cwd, stdio, encoding: 'utf8' });

/** The newest tag of a release in the history before this commit. */
function lastTag() {
  try {
    const args = ['describe', '--tags', '--abbrev=0', '--match', 'v[0-9]*', 'HEAD^'];
    return run('git', args, process.cwd(), ['ignore', 'pipe', 'ignore']).trim();
  } catch {
    return undefined;
  }
}

const [option, given] = process.argv.slice(2);
if (option === '--folder' && given !== undefined) await upgradeFrom(given);
else if (option !== undefined) throw new Error('Usage: node scripts/upgrade-story.mjs [--folder FOLDER]');
else {
  const tag = lastTag();
  if (tag === undefined)
    process.stdout.write('There is no release before this one: nothing to upgrade from.\n');
  else await upgradeFromTag(tag);
}

async function upgradeFromTag(tag) {
  const folder = mkdtempSync(join(tmpdir(), 'domain-steward-former-'));
  process.stdout.write(`The release before this one is ${tag}. It is built first.\n`);
  try {
    run('git', ['worktree', 'add', '--force', '--detach', folder, tag], process.cwd());
    run('npm', ['ci', '--no-audit', '--no-fund'], folder);
    await upgradeFrom(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
    run('git', ['worktree', 'prune'], process.cwd());
  }
}

async function upgradeFrom(former) {
  const around = await startSurroundings('3998');
  const { service, workspace, settings, url } = around;
  const logs = [];
  const started = [];
  const start = async (folder) => {
    const bot = startProcess(
      [process.execPath, 'dist/main.js'],
      { cwd: folder, env: { PATH: process.env.PATH, ...settings }, stdio: ['ignore', 'pipe', 'inherit'] },
      url,
    );
    bot.child.stdout.on('data', (bytes) => logs.push(String(bytes)));
    started.push(bot);
    await bot.ready();
    return bot;
  };
  const [alice, bob] = [workspace.as('U0ALICE'), workspace.as('U0BOB')];
  try {
    const before = await start(former);
    await linkAlice(workspace);
    const done = await ask(workspace, '/domain renew cafe.rest 2 -- client paid');
    await bob.click(done, 'order_approve');
    await reaches(workspace, done, 'SUCCEEDED');
    service.faults.set({ kind: 'drop_before', times: 1, match: { task: 'domain.renew' } });
    const unknown = await ask(workspace, '/domain renew bistro.rest');
    await bob.click(unknown, 'order_approve');
    await reaches(workspace, unknown, 'UNKNOWN');
    const waiting = await ask(workspace, '/domain renew sushi.rest');
    await alice.command(CHANNEL, '/domain watch noodle.rest');
    await alice.command(CHANNEL, '/domain calendar');
    const charged = service.state.charges.length;
    await before.stop();

    logs.length = 0;
    const after = await start(root);
    if (service.state.charges.length !== charged) throw new Error('the upgrade charged something');
    await bob.click(waiting, 'order_approve');
    await reaches(workspace, waiting, 'SUCCEEDED');
    if (service.state.charges.length !== charged + 1) throw new Error('what waited was not charged once');
    const known = alice.ephemerals().length;
    await alice.command(CHANNEL, '/domain orders');
    const listed = await until('the orders', async () => alice.ephemerals()[known]);
    for (const name of ['cafe.rest', 'bistro.rest', 'sushi.rest'])
      if (!JSON.stringify(listed).includes(name))
        throw new Error(`the order of ${name} is not there any more`);
    await alice.command(CHANNEL, '/domain whoami');
    await until('the account', async () =>
      JSON.stringify(alice.ephemerals().slice(known + 1)).includes('alice'),
    );
    await after.stop();
    const wrong = logs
      .join('')
      .split('\n')
      .filter((line) => /"level":(50|60)/.test(line));
    if (wrong.length > 0) throw new Error(`the log has errors:\n${wrong.join('\n')}`);
    process.stdout.write('The upgrade held: what was done, unknown and waiting is there, and goes on.\n');
  } finally {
    for (const { child } of started) child.kill('SIGKILL');
    await around.close();
  }
}
