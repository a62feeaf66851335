import { describe, expect, it } from 'vitest';
import { COMMANDS, FORMS } from '../../../src/slack/features/index.ts';
import { textMessage } from '../../../src/slack/views/blocks.ts';
import { formView, noticeView } from '../../../src/slack/views/form.ts';
import { helpFor, helpOverview, unknownCommand } from '../../../src/slack/views/help.ts';
import { expectMessage, expectView } from './limits.ts';

const origin = { channelId: 'C0DOMAINS', threadTs: '1795255230.000100', subject: 'x'.repeat(300) };
/** Menus that take their options from the data of the moment; Slack refuses an empty one. */
const FILLED_LATER = new Set(['renew_many']);

describe.each([...FORMS.values()].filter(({ form }) => !FILLED_LATER.has(form.name)))(
  'the form $form.name',
  ({ form }) => {
    it('is as people know it', () => {
      const view = formView({ form, origin: { channelId: 'C0DOMAINS' } });
      expectView(view, 'modal');
      expect(view).toMatchSnapshot();
    });

    it('names its inputs by its fields', () => {
      const { blocks } = formView({ form, origin });
      expect(blocks.map((block) => block.block_id)).toEqual(form.fields.map(({ name }) => name));
      const actionIds = blocks.map((block) => /"action_id":"([^"]+)"/.exec(JSON.stringify(block))?.[1]);
      expect(actionIds).toEqual(form.fields.map(({ name }) => name));
    });

    it('holds whatever was typed before, without its secrets', () => {
      const typed = Object.fromEntries(form.fields.map(({ name }) => [name, 's3cret '.repeat(1_000)]));
      const view = formView({ form, origin, values: typed, problems: ['<!channel> '.repeat(1_000)] });
      expectView(view, 'modal');
      for (const { name, kind } of form.fields) {
        const block = view.blocks.find(({ block_id: id }) => id === name);
        if (kind === 'secret') expect(JSON.stringify(block)).not.toContain('s3cret');
      }
    });
  },
);

it('a view that only says something has nothing to submit', () => {
  const view = noticeView(
    'A title that is far too long for Slack',
    [...textMessage('Done.').blocks].filter((block) => block.type === 'section'),
  );
  expectView(view, 'modal');
  expect(view.submit).toBeUndefined();
});

describe('help', () => {
  const commands = [...COMMANDS.values()];

  it('lists every subcommand', () => {
    const overview = helpOverview(commands);
    expectMessage(overview);
    const text = JSON.stringify(overview.blocks);
    expect(commands.filter(({ usage }) => !text.includes(`/domain ${usage}\``))).toEqual([]);
    expect(overview).toMatchSnapshot();
  });

  it.each(commands)('has an example for $name that is a call of it', (command) => {
    const help = helpFor(command);
    expectMessage(help);
    expect(command.example).toMatch(new RegExp(`^/domain ${command.name}( |$)`));
    expect(command.usage).toMatch(new RegExp(`^${command.name}( |$)`));
    expect(command.summary).toMatch(/^[A-Z].*[^.]$/);
    expect(help.text).toContain(command.example);
  });

  it('answers a slip with the nearest subcommand', () => {
    expect(unknownCommand('<!channel>`', 'renew').text).toBe(
      'There is no /domain &lt;!channel&gt;ˋ. Did you mean /domain renew? /domain help lists everything.',
    );
  });
});
