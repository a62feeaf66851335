import { expect, test } from 'vitest';
import { z } from 'zod';
import { NO_SERVICE } from '../../src/slack/help/help.view.ts';
import { COMMANDS } from '../../src/slack/index.ts';
import { answerTo, DOMAINS, textOf, until, useTestDemo } from '../support/demo.ts';

/* The bot with Slack's tokens alone: no domain service, no approvers, no reminder channel. */

const NO_SETTINGS = {
  ...{ SERVICE_JSON_URL: '', SERVICE_XML_URL: '', APPROVERS: '', ADMINS: '', REMINDER_CHANNEL: '' },
};

const t = useTestDemo({ settings: NO_SETTINGS, linked: [] });

const told = (line: string) => answerTo(t.workspace, t.ada, `/domain ${line}`);

const WITHOUT_SERVICE = /^(help|name|names|rules|orders?|key|away|back|(un)?watch|expiring|calendar)$/;

test('every subcommand answers: those that need a service say which setting connects one', async () => {
  for (const [name, { needs }] of COMMANDS) {
    const before = { told: t.ada.ephemerals().length, views: t.ada.openedViews().length };
    await t.ada.command(DOMAINS, `/domain ${name}`);
    await until(
      `${name} answers`,
      () => t.ada.ephemerals().length > before.told || t.ada.openedViews().length > before.views,
    );
    const answer = t.ada.ephemerals()[before.told]?.text ?? '';
    const isOfService = ['service', 'linked', 'account'].includes(needs);
    expect(answer === NO_SERVICE.text, `${name}: ${answer}`).toBe(isOfService);
    if (WITHOUT_SERVICE.test(name)) expect(isOfService, name).toBe(false);
  }
});

test('help, corrections, Home and lists leave out features that need a service', async () => {
  const help = await told('help all');
  expect(help).toMatch(/\/domain watch NAME/);
  expect(help).not.toMatch(/\/domain (link|renew|create|mandates|presets|bulk)\b|linked/);
  expect(await told('help')).not.toMatch(/renew|link/);
  expect(await told('help renew')).toContain('`SERVICE_JSON_URL` to connect one');
  expect(await told('renw cafe.rest')).not.toMatch(/renew/);
  expect(await told('wacth cafe.rest')).toContain('/domain watch');
  await told('watch cafe.rest');
  for (const line of ['names', 'name cafe.rest', 'expiring 3000']) {
    await told(line);
    expect(JSON.stringify(t.ada.ephemerals().at(-1)?.blocks), line).not.toMatch(
      /names_renew|reminder_re(new|store)"/,
    );
  }
  await t.ada.openHome();
  const home = await t.workspace.waitFor(() => t.ada.homeView(), { what: 'the Home tab' });
  expect(textOf(home)).toMatch(/I watch the expiry, DNS/);
  expect(textOf(home)).not.toMatch(/account|order/i);
});

test('the workspace’s admins are the approvers, and doctor says that no service is connected', async () => {
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
  expect(t.logged()).toContain('SERVICE_JSON_URL is not set');
});
