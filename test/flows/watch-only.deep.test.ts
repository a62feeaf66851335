import { expect, test } from 'vitest';
import { z } from 'zod';
import { NO_SERVICE } from '../../src/slack/help/help.view.ts';
import { COMMANDS } from '../../src/slack/index.ts';
import { DOMAINS, readCommandReply, textOf, until, useTestDemo } from '../support/demo.ts';

/* The bot with only Slack's tokens: no domain service, approvers or reminder channel. */

const NO_SETTINGS = {
  ...{ SERVICE_JSON_URL: '', SERVICE_XML_URL: '', APPROVERS: '', ADMINS: '', REMINDER_CHANNEL: '' },
};

const t = useTestDemo({ settings: NO_SETTINGS, linkedPeople: [] });

const send = (line: string) => readCommandReply(t.workspace, t.ada, `/domain ${line}`);

const WITHOUT_SERVICE = /^(help|name|names|rules|orders?|key|away|back|(un)?watch|expiring|calendar)$/;

test('every subcommand replies; those that need a service name the setting to connect one', async () => {
  for (const [name, { needs }] of COMMANDS) {
    const before = { replies: t.ada.ephemerals().length, views: t.ada.openedViews().length };
    await t.ada.command(DOMAINS, `/domain ${name}`);
    await until(
      `a reply to ${name}`,
      () => t.ada.ephemerals().length > before.replies || t.ada.openedViews().length > before.views,
    );
    const answer = t.ada.ephemerals()[before.replies]?.text ?? '';
    const needsService = ['service', 'linked', 'account'].includes(needs);
    expect(answer === NO_SERVICE.text, `${name}: ${answer}`).toBe(needsService);
    if (WITHOUT_SERVICE.test(name)) expect(needsService, name).toBe(false);
  }
});

test('help, suggestions, Home and lists leave out features that need a service', async () => {
  const help = await send('help all');
  expect(help).toMatch(/\/domain watch NAME/);
  expect(help).not.toMatch(/\/domain (link|renew|create|mandates|presets|bulk)\b|linked/);
  expect(await send('help')).not.toMatch(/renew|link/);
  expect(await send('help renew')).toContain('`SERVICE_JSON_URL` to connect one');
  expect(await send('renw cafe.rest')).not.toMatch(/renew/);
  expect(await send('wacth cafe.rest')).toContain('/domain watch');
  await send('watch cafe.rest');
  for (const line of ['names', 'name cafe.rest', 'expiring 3000']) {
    await send(line);
    expect(JSON.stringify(t.ada.ephemerals().at(-1)?.blocks), line).not.toMatch(
      /names_renew|reminder_re(new|store)"/,
    );
  }
  await t.ada.openHome();
  const home = await t.workspace.waitFor(() => t.ada.homeView(), { what: 'the Home tab' });
  expect(textOf(home)).toMatch(/I watch the expiry, DNS/);
  expect(textOf(home)).not.toMatch(/account|order/i);
});

test('the workspace’s admins are the approvers, and the log says that no service is connected', async () => {
  const before = t.ada.openedViews().length;
  await t.ada.command(DOMAINS, '/domain settings');
  const view = await t.workspace.waitFor(() => t.ada.openedViews()[before], { what: 'the settings' });
  const people = z
    .array(
      z
        .object({
          block_id: z.string(),
          element: z.object({ initial_users: z.array(z.string()).optional() }),
        })
        .partial(),
    )
    .parse(view.blocks)
    .find(({ block_id }) => block_id === 'approvers')?.element?.initial_users;
  expect(people).toContain('U0ADA');
  expect(t.getLog()).toContain('SERVICE_JSON_URL is not set');
});
