// The main scenario with the built program: Alice links an account and requests a renewal, Bob approves it,
// and it is sent once.
//   node .ci/image-story.mjs IMAGE            in a read-only container without capabilities, not as root
//   node .ci/image-story.mjs --folder FOLDER  in the image folder of .ci/image-steps.mjs
import { ask, CHANNEL, linkAlice, reaches, startProcess, startSurroundings, until } from './story.mjs';

const [first, second] = process.argv.slice(2);
if (first === undefined) throw new Error('Usage: node .ci/image-story.mjs IMAGE | --folder FOLDER');

const around = await startSurroundings('3999');
const { service, workspace, settings, url } = around;
const inContainer = [
  ...['docker', 'run', '--rm', '--network=host', '--read-only', '--cap-drop=ALL'],
  ...['--security-opt=no-new-privileges', '--memory=512m', '--tmpfs=/tmp'],
  // The image sets its own data folder.
  ...Object.entries(settings).flatMap(([name, value]) =>
    name === 'DATA_DIR' ? [] : [`--env=${name}=${value}`],
  ),
];
const bot =
  first === '--folder'
    ? startProcess(
        [process.execPath, 'dist/main.js'],
        { cwd: second, env: { PATH: process.env.PATH, ...settings }, stdio: 'inherit' },
        url,
      )
    : startProcess([...inContainer, first], { stdio: 'inherit' }, url);
try {
  await bot.ready();
  await linkAlice(workspace);
  const card = await ask(workspace, '/domain renew cafe.rest 2 -- client paid');
  await workspace.as('U0BOB').click(card, 'order_approve');
  await until('the charge', async () => service.state.charges.length > 0);
  await reaches(workspace, card, 'SUCCEEDED');
  await until('the result', async () =>
    workspace
      .messages(CHANNEL)
      .some(({ metadata, thread_ts }) => thread_ts && metadata?.event_payload.state === 'SUCCEEDED'),
  );
  if (service.state.charges.length !== 1) throw new Error('the renewal was not charged exactly once');
  await bot.stop();
  process.stdout.write('Story passed: requested, approved, charged once, shown, stopped cleanly.\n');
} finally {
  bot.child.kill('SIGKILL');
  await around.close();
}
