import { describe, expect, it } from 'vitest';
import {
  allCommandsHelp,
  commandHelp,
  HELP_GROUPS,
  helpOverview,
  unknownCommand,
} from '../../src/slack/help/help.view.ts';
import { COMMANDS, FORMS } from '../../src/slack/index.ts';
import { textMessage } from '../../src/slack/kit/blocks.ts';
import { formView, noticeView } from '../../src/slack/kit/form.ts';
import { renderText } from '../support/rendered.ts';
import { expectValidMessage, expectValidView } from './kit/limits.ts';

const origin = { channelId: 'C0DOMAINS', threadTs: '1795255230.000100', subject: 'x'.repeat(300) };
/** Menus with options that depend on current data; Slack refuses an empty one. */
const FILLED_LATER = new Set(['renew_many']);

describe.each([...FORMS.values()].filter(({ form }) => !FILLED_LATER.has(form.name)))(
  'the form $form.name',
  ({ form }) => {
    it('matches its snapshot', () => {
      const view = formView({ form, origin: { channelId: 'C0DOMAINS' } });
      expectValidView(view, 'modal');
      expect(renderText(view)).toMatchSnapshot();
    });

    it('uses its fields’ names as block and action IDs', () => {
      const { blocks } = formView({ form, origin });
      expect(blocks.map((block) => block.block_id)).toEqual(form.fields.map(({ name }) => name));
      const actionIds = blocks.map((block) => /"action_id":"([^"]+)"/.exec(JSON.stringify(block))?.[1]);
      expect(actionIds).toEqual(form.fields.map(({ name }) => name));
    });

    it('has short sentences in plain text', () => {
      const texts = form.fields.flatMap(({ label, hint = '', options = [] }) => [
        label,
        hint,
        ...options.map(({ text }) => text),
      ]);
      expect(texts.filter((text) => text.includes('`'))).toEqual([]);
      const sentences = texts.flatMap((text) => text.split(/[.!?:;]\s/));
      expect(sentences.filter((sentence) => sentence.split(/\s+/).length > 25)).toEqual([]);
    });

    it('keeps typed values, except for secrets', () => {
      const typed = Object.fromEntries(form.fields.map(({ name }) => [name, 's3cret '.repeat(1_000)]));
      const view = formView({ form, origin, values: typed, warnings: ['<!channel> '.repeat(1_000)] });
      expectValidView(view, 'modal');
      for (const { name, kind } of form.fields) {
        const block = view.blocks.find(({ block_id: id }) => id === name);
        if (kind === 'secret') expect(JSON.stringify(block)).not.toContain('s3cret');
      }
    });
  },
);

it('a view without inputs has no submit button', () => {
  const view = noticeView(
    'A title that is far too long for Slack',
    [...textMessage('Done.').blocks].filter((block) => block.type === 'section'),
  );
  expectValidView(view, 'modal');
  expect(view.submit).toBeUndefined();
});

describe('help', () => {
  const commands = [...COMMANDS.values()];

  const readers = [
    { isLinked: true, isAdmin: true },
    { isLinked: true, isAdmin: false },
    { isLinked: false, isAdmin: false },
  ];
  const positions = (text: string, names: readonly string[]) =>
    names.map((name) => text.search(new RegExp(`/domain ${name}[ \`]|\`${name}\``)));

  it('has existing subcommands in its groups, each once', () => {
    const grouped = HELP_GROUPS.flatMap(({ commandNames }) => commandNames);
    expect(new Set(grouped).size).toBe(grouped.length);
    expect(commands.map(({ name }) => name)).toEqual(expect.arrayContaining(grouped));
    const everyday = commands.filter(({ name }) => !grouped.includes(name));
    expect(
      everyday.filter(({ needs }) => needs !== 'linked' && needs !== 'account'),
      'subcommands that have to be in a group',
    ).toEqual([]);
  });

  it.each(readers)('is short and has a button that lists every subcommand: %o', (who) => {
    const reader = { ...who, hasService: true };
    const overview = helpOverview(commands, reader);
    expectValidMessage(overview);
    expect(JSON.stringify(overview.blocks)).toContain('"action_id":"help_all"');
    const shown = commands.filter(({ usage }) =>
      JSON.stringify(overview.blocks).includes(`/domain ${usage}\``),
    );
    expect(shown).toHaveLength(5);
    const all = allCommandsHelp(commands, reader);
    expectValidMessage(all);
    const text = JSON.stringify(all.blocks);
    expect(commands.filter(({ usage }) => !text.includes(`/domain ${usage}\``))).toEqual([]);
    expect(renderText({ overview, all })).toMatchSnapshot();
  });

  it('begins with subcommands that the reader can use', () => {
    const overview = JSON.stringify(
      helpOverview(commands, { hasService: true, isLinked: false, isAdmin: false }).blocks,
    );
    const [link, name, create, settings] = positions(overview, ['link', 'name', 'create', 'settings']);
    expect(link).toBeLessThan(name ?? 0);
    expect([create, settings]).toEqual([-1, -1]);
    const all = JSON.stringify(
      allCommandsHelp(commands, { hasService: true, isLinked: false, isAdmin: false }).blocks,
    );
    const order = positions(all, ['rules', 'expiring', 'link', 'renew', 'settings']);
    expect(order).toEqual(order.toSorted((a, b) => a - b));
  });

  it.each(commands)('has a valid example for $name', (command) => {
    const help = commandHelp(command);
    expectValidMessage(help);
    expect(command.example).toMatch(new RegExp(`^/domain ${command.name}( |$)`));
    expect(command.usage).toMatch(new RegExp(`^${command.name}( |$)`));
    expect(command.summary).toMatch(/^[A-Z].*[^.]$/);
    expect(help.text).toContain(command.example);
  });

  const timedForms = [...FORMS.values()].filter(({ form }) =>
    form.fields.some(({ name }) => name === 'send_at'),
  );
  const timedTasks = timedForms.map(({ form }) => form.name).filter((name) => name !== 'renew_many');

  it('offers a time for exactly the subcommands whose form has one', () => {
    const offering = commands.filter((command) =>
      commandHelp(command).text.includes('end the command with a time'),
    );
    expect(offering.map(({ name }) => name).toSorted()).toEqual(timedTasks.toSorted());
    expect(timedTasks).toEqual(expect.arrayContaining(['renew', 'bulk', 'redirect', 'ssl-contact', 'user']));
    for (const name of ['authcode', 'mandates']) expect(timedTasks).not.toContain(name);
  });

  it('suggests the nearest subcommand for a typo', () => {
    expect(unknownCommand('<!channel>`', 'renew').text).toBe(
      '/domain &lt;!channel&gt;ˋ isn’t a command. Did you mean /domain renew? To list all commands, use /domain help.',
    );
  });
});
