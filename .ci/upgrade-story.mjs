// Tests the upgrade from the last release: it runs and stops, then this release continues with its database.
//   node .ci/upgrade-story.mjs                  from the last tag before this commit, if there is one
//   node .ci/upgrade-story.mjs --folder FOLDER  from a release that is built in FOLDER
// This release must be built here. The former one fills the tables with a story of done, unknown and pending
// orders, and with its demo's history and the days after. Both must fill all tables except those in EMPTY.
import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { startEmbeddedPostgres } from '@domain-steward/embedded-postgres';
import pg from 'pg';
import { startDemo } from '../dist/demo/demo.js';
import { PersonActions } from '../dist/demo/people.js';
import { createLog } from '../dist/lib/log.js';
import { ask, CHANNEL, linkAlice, reaches, startProcess, startSurroundings, until } from './story.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const run = (command, args, cwd, stdio = 'inherit') =>
  execFileSync(command, args, { cwd, stdio, encoding: 'utf8' });

/** Tables that may be empty when the former release stops, and why that is fine. */
const EMPTY = {
  token_steps: 'a one-time token is valid for minutes, then the next one is',
  signing_links: 'a link is valid for minutes, then a new one is requested',
  passkey_counters: 'software passkeys and synced passkeys have no counter',
  incident_warnings: 'a person warned at a click is warned again at the next one',
  slack_outages: 'rows are deleted when Slack is back, and the story has no outage',
  webhook_deliveries: 'rows are deleted on delivery, and the story has none pending',
};
/** Tables whose rows are deleted over time. */
const PASSING = [
  'leases',
  'unsealed_events',
  'signing_links',
  'revealable_secrets',
  'names_imports',
  'slack_outages',
  'webhook_deliveries',
];

/** Commands in the demo after its history and the days after, and a word of each answer. */
const ANSWERS = {
  '/domain orders': 'tapas.rest',
  '/domain name brasserie.rest': 'brasserie.rest',
  '/domain names tag:brand': 'cafe.rest',
  '/domain spend': '€',
  '/domain prices': 'Example contract',
  '/domain policy': 'the menu is signed',
  '/domain mandates': 'garden.rest',
  '/domain key': 'The demo',
};

/** The newest release tag before this commit. */
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
else if (option !== undefined) throw new Error('Usage: node .ci/upgrade-story.mjs [--folder FOLDER]');
else {
  const tag = lastTag();
  if (tag === undefined) process.stdout.write('No earlier release, so nothing to upgrade from.\n');
  else await upgradeFromTag(tag);
}

async function upgradeFromTag(tag) {
  const folder = mkdtempSync(join(tmpdir(), 'domain-steward-former-'));
  process.stdout.write(`The release before this one is ${tag}. Building it first.\n`);
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
  const left = [await upgradeStory(former), await upgradeDemo(former)];
  const filled = (table) => left.some((rows) => rows[table] > 0);
  const empty = Object.keys(left[0]).filter((table) => !filled(table) && !(table in EMPTY));
  const gone = Object.keys(EMPTY).filter((table) => !(table in left[0]));
  if (gone.length > 0) throw new Error(`EMPTY has unknown tables: ${gone.join(', ')}`);
  if (empty.length > 0) throw new Error(`the former release left these tables empty: ${empty.join(', ')}`);
  process.stdout.write('The upgrade held: done, unknown and pending orders are still there and continue.\n');
}

/** The number of rows per table. */
async function rowsOf(url) {
  const client = new pg.Client(url);
  await client.connect();
  try {
    const rows = {};
    const { rows: tables } = await client.query(
      "SELECT tablename AS name FROM pg_tables WHERE schemaname = 'public' AND tablename <> '_prisma_migrations'",
    );
    for (const { name } of tables)
      rows[name] = Number((await client.query(`SELECT count(*) FROM "${name}"`)).rows[0].count);
    return rows;
  } finally {
    await client.end();
  }
}

/** Checks that no table lost rows, except for PASSING. */
function nothingLost(before, after) {
  const lost = Object.keys(before).filter(
    (table) => !PASSING.includes(table) && !(after[table] >= before[table]),
  );
  if (lost.length > 0) throw new Error(`the upgrade lost rows in: ${lost.join(', ')}`);
}

function noErrors(log) {
  const wrong = log.split('\n').filter((line) => /"level":(50|60)/.test(line));
  if (wrong.length > 0) throw new Error(`the log has errors:\n${wrong.join('\n')}`);
}

/** Done, unknown and pending orders, and people's data. @returns rows per table after the former release */
async function upgradeStory(former) {
  const around = await startSurroundings('3998');
  const { service, workspace, url } = around;
  const settings = { ...around.settings, ADMINS: 'U0ADA,U0BOB' };
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
    await alice.command(CHANNEL, '/domain watch noodle.rest');
    await alice.command(CHANNEL, '/domain calendar');
    const revealable = await ask(workspace, '/domain authcode cafe.rest');
    await leaveWaiting(workspace);
    await bob.click(revealable, 'order_approve');
    await reaches(workspace, revealable, 'SUCCEEDED');
    await bob.command(CHANNEL, '/domain away 2d <@U0CAROL>');
    await until('the stand-in', async () => JSON.stringify(bob.ephemerals()).includes('U0CAROL'));
    const waiting = await ask(workspace, '/domain renew sushi.rest');
    const charged = service.state.charges.length;
    await before.stop();
    const rows = await rowsOf(settings.DATABASE_URL);

    logs.length = 0;
    const after = await start(root);
    if (service.state.charges.length !== charged) throw new Error('the upgrade charged something');
    // Carol stands in for Bob.
    await workspace.as('U0CAROL').click(waiting, 'order_approve');
    await reaches(workspace, waiting, 'SUCCEEDED');
    if (service.state.charges.length !== charged + 1)
      throw new Error('the pending order was not charged exactly once');
    const known = alice.ephemerals().length;
    await alice.command(CHANNEL, '/domain orders');
    const listed = await until('the orders', async () => alice.ephemerals()[known]);
    for (const name of ['cafe.rest', 'bistro.rest', 'sushi.rest'])
      if (!JSON.stringify(listed).includes(name)) throw new Error(`the order for ${name} is gone`);
    await alice.command(CHANNEL, '/domain whoami');
    await until('the account', async () =>
      JSON.stringify(alice.ephemerals().slice(known + 1)).includes('alice'),
    );
    await after.stop();
    noErrors(logs.join(''));
    nothingLost(rows, await rowsOf(settings.DATABASE_URL));
    return rows;
  } finally {
    for (const { child } of started) child.kill('SIGKILL');
    await around.close();
  }
}

/** Unfinished work of people, and their data. */
async function leaveWaiting(workspace) {
  const [ada, bob, alice] = ['U0ADA', 'U0BOB', 'U0ALICE'].map((id) => new PersonActions(workspace, id));
  const contacts = { preset_name: 'ACME Ltd', ownerc: '11', adminc: '12', techc: '13' };
  const behind = async (who, command, action) => ({ message: await who.typeCommand(command), action });
  await bob.actAndWait(async () => bob.fillIn(await behind(bob, '/domain presets', 'preset_add'), contacts));
  await bob.actAndWait(() =>
    bob.fillIn('/domain names import', { rows: 'name,owner,tags,note\nnoodle.rest,U0BOB,brand,' }),
  );
  await alice.typeCommand('/domain nameservers ramen.rest ns1.example.net ns2.example.net');
  const rules =
    '- rule_name: a draft\n  tasks: [renew]\n  names: [draft.rest]\n  decision: approve\n  approvers: [U0BOB]\n';
  await ada.actAndWait(async () =>
    ada.fillIn(await behind(ada, '/domain policy', 'policy_upload'), { rules }),
  );
  await ada.actAndWait(() => ada.fillIn('/domain settings', { approval_remind_after: '5h' }));
  // Stays unconfirmed: another admin has to confirm it.
  await ada.actAndWait(() => ada.fillIn('/domain settings', { approvers: ['U0BOB', 'U0CAROL'] }));
}

/** A workspace with a history of renewals by mandates and reminders. @returns like `upgradeStory` */
async function upgradeDemo(former) {
  const data = mkdtempSync(join(tmpdir(), 'domain-steward-story-'));
  chmodSync(data, 0o755);
  const url = 'http://127.0.0.1:3997';
  const env = { PATH: process.env.PATH, PORT: '3997', DATA_DIR: data };
  const before = startProcess(
    [process.execPath, 'dist/demo/main.js'],
    { cwd: former, env, stdio: ['ignore', 'ignore', 'inherit'] },
    url,
  );
  const dataDir = join(data, 'demo');
  let postgres;
  let demo;
  try {
    await until('the demo', async () => (await fetch(`${url}/local/time`)).ok);
    const answered = await fetch(`${url}/local/days`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{}',
    });
    if (!answered.ok) throw new Error(`letting days pass failed: ${await answered.text()}`);
    await before.stop();
    postgres = await startEmbeddedPostgres({ dataDir });
    const rows = await rowsOf(postgres.url);

    const logged = [];
    const log = createLog('warn', { write: (line) => void logged.push(line) });
    demo = await startDemo({ port: 3997, dataDir, databaseUrl: postgres.url, lived: true, log });
    const ada = new PersonActions(demo.workspace, 'U0ADA');
    for (const [command, word] of Object.entries(ANSWERS))
      if (!JSON.stringify(await ada.typeCommand(command)).includes(word))
        throw new Error(`the answer to ${command} no longer contains ${word}`);
    await demo.bot.catchUp();
    await demo.stop();
    demo = undefined;
    noErrors(logged.join(''));
    nothingLost(rows, await rowsOf(postgres.url));
    return rows;
  } finally {
    // A killed demo would leave its PostgreSQL running.
    await before.stop().catch(() => undefined);
    await demo?.stop();
    await postgres?.stop();
    // If run as root, the data is elsewhere.
    const link = join(dataDir, 'postgres');
    const folders = existsSync(link) ? [realpathSync(link), data] : [data];
    for (const folder of folders) rmSync(folder, { recursive: true, force: true });
  }
}
