import { VARIABLE_EXAMPLES } from '../../src/config/environment.ts';
import type { RegisteredCommand } from '../../src/slack/feature.ts';
import { findGroupTitle, HELP_GROUPS } from '../../src/slack/help/help.view.ts';
import { COMMANDS } from '../../src/slack/index.ts';
import { SETTINGS } from './settings.ts';

const INTRO = `# Reference

Every command and setting. This page is generated: run \`npm run reference\` after you change one.`;

const COMMANDS_INTRO = `## Commands

Type them after \`/domain\` in any channel. If a command has everything it needs, it runs immediately; otherwise it opens a form. To give approvers a reason, add it after two hyphens: \`/domain renew cafe.rest 2 -- client paid\`.

The message shortcut **Domain task…** opens the same forms, and the order's card is posted in that message's thread. The global shortcut **Domain task** opens them from anywhere.`;

const SETTINGS_INTRO = `## Settings

Every setting is an environment variable. The bot reads a \`.env\` file if there is one. To read a value from a file, set \`NAME_FILE\` instead of \`NAME\`. Approval and reminder settings are initial values: admins can override them with \`/domain settings\`.`;

const NEEDS: Readonly<Record<RegisteredCommand['needs'], string>> = {
  nothing: 'everyone',
  member: 'members',
  linked: 'members with a linked account',
  account: 'members with a linked account, or with the team’s',
  admin: 'admins',
  service: 'members, with a domain service',
  linked_if_service: 'members',
  linked_or_owner: 'members',
};

function formatTable(headers: readonly string[], rows: readonly (readonly string[])[]): string {
  const formatRow = (cells: readonly string[]) =>
    `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
  return [formatRow(headers), formatRow(headers.map(() => '---')), ...rows.map(formatRow)].join('\n');
}

function buildCommandTables(): readonly string[] {
  const commands = [...COMMANDS.values()];
  return HELP_GROUPS.flatMap(({ title, commandNames }) => {
    const groupCommands = commands
      .filter((command) => findGroupTitle(command) === title)
      .sort((a, b) => commandNames.indexOf(a.name) - commandNames.indexOf(b.name));
    const rows = groupCommands.map(({ usage, summary, example, needs }) => [
      `\`${usage}\``,
      summary,
      `\`${example}\``,
      NEEDS[needs],
    ]);
    return [`### ${title}`, formatTable(['command', 'does', 'example', 'for'], rows)];
  });
}

function buildSettingTables(): readonly string[] {
  const undocumented = new Set(Object.keys(VARIABLE_EXAMPLES));
  const tables = Object.entries(SETTINGS).flatMap(([title, settings]) => {
    const rows = Object.entries(settings).map(([name, { meaning, ifUnset }]) => {
      undocumented.delete(name);
      return [`\`${name}\``, meaning, ifUnset];
    });
    return [`### ${title}`, formatTable(['variable', 'meaning', 'if unset'], rows)];
  });
  if (undocumented.size > 0)
    throw new Error(`scripts/reference/settings.ts lacks ${[...undocumented].join(', ')}`);
  return tables;
}

export function referencePage(): string {
  return `${[INTRO, COMMANDS_INTRO, ...buildCommandTables(), SETTINGS_INTRO, ...buildSettingTables()].join('\n\n')}\n`;
}
