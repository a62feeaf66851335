import type { Capability, Needs } from '../capability.ts';
import type { RegisteredCommand } from '../feature.ts';
import {
  actions,
  button,
  code,
  context,
  lineSections,
  type Message,
  message,
  section,
  textMessage,
} from '../kit/blocks.ts';
import { UNDOCUMENTED_TASKS_NOTE } from '../names/rules.view.ts';

/* Help, and the answer to an unknown subcommand. */

type HelpEntry = Pick<RegisteredCommand, 'name' | 'usage' | 'summary' | 'example' | 'needs' | 'time'>;

export interface HelpReader extends Capability {
  readonly isLinked: boolean;
  /** The team's account is used for people who have no account of their own. */
  readonly hasTeamAccount?: boolean;
  readonly isAdmin: boolean;
}

const EVERYDAY_TITLE = 'Everyday';

/** In display order. */
export const HELP_GROUPS: readonly { readonly title: string; readonly commandNames: readonly string[] }[] = [
  { title: EVERYDAY_TITLE, commandNames: [] },
  {
    title: 'Search and lists',
    commandNames: [
      'name',
      'names',
      'presets',
      'rules',
      'orders',
      'order',
      'receipt',
      'prereg',
      'policy',
      'help',
    ],
  },
  { title: 'Watch', commandNames: ['expiring', 'posture', 'watch', 'unwatch', 'import', 'calendar'] },
  {
    title: 'People and money',
    commandNames: ['link', 'whoami', 'use', 'unlink', 'key', 'away', 'back', 'mandates', 'prices', 'spend'],
  },
  { title: 'Admin', commandNames: ['settings', 'audit', 'ledger'] },
];

interface CommandGroup {
  readonly title: string;
  readonly commands: readonly HelpEntry[];
}

export function findGroupTitle({ name }: { readonly name: string }): string {
  return HELP_GROUPS.find(({ commandNames }) => commandNames.includes(name))?.title ?? EVERYDAY_TITLE;
}

function listUsableGroups(commands: readonly HelpEntry[], reader: HelpReader): CommandGroup[] {
  const getRank = ({ name }: HelpEntry) =>
    HELP_GROUPS.flatMap(({ commandNames }) => commandNames).indexOf(name);
  return HELP_GROUPS.map(({ title }) => ({
    title,
    commands: commands
      .filter((command) => findGroupTitle(command) === title && canUse(command, reader))
      .sort((a, b) => getRank(a) - getRank(b)),
  })).filter((group) => group.commands.length > 0);
}

function canUse({ needs }: HelpEntry, reader: HelpReader): boolean {
  if (needs === 'admin') return reader.isAdmin;
  return !lacksAccount(needs, reader);
}

/** Whether the reader must link an account before using the subcommand. */
function lacksAccount(needs: Needs, { isLinked, hasTeamAccount = false }: HelpReader): boolean {
  return !isLinked && (needs === 'linked' || (needs === 'account' && !hasTeamAccount));
}

const INTRO = '*Domain Steward* carries out domain tasks for you. Paid and risky tasks need approval.';
const LINK_FIRST_HINT = 'To start, link your domain service account with `/domain link`.';
const TEAM_ACCOUNT_HINT =
  'You haven’t linked an account, so your approved orders use the team’s account. To link yours, use `/domain link`.';

const WATCH_ONLY_INTRO =
  '*Domain Steward* watches the expiry, DNS, registrar and certificates of your names, and tells you in a channel when you need to act.';

function introText({ hasService, isLinked, hasTeamAccount = false }: HelpReader): string {
  if (!hasService) return WATCH_ONLY_INTRO;
  if (isLinked) return INTRO;
  return `${INTRO}\n${hasTeamAccount ? TEAM_ACCOUNT_HINT : LINK_FIRST_HINT}`;
}

function usageLine({ usage, summary }: HelpEntry): string {
  return `\`/domain ${usage}\`  ${summary}`;
}

/** The overview shows the first commands in this list that the reader can use. */
const MOST_USED_COMMANDS = ['link', 'renew', 'create', 'name', 'orders', 'expiring', 'watch', 'import'];
const MOST_USED_WATCH_ONLY_COMMANDS = ['watch', 'import', 'expiring', 'name', 'names'];
const MAX_OVERVIEW_COMMANDS = 5;
const WATCH_ONLY_EXAMPLE_HINT = context(
  'To see an example of any command, use `/domain help` with its name, such as `/domain help watch`.',
);

export function helpOverview(commands: readonly HelpEntry[], reader: HelpReader): Message {
  const mostUsed = reader.hasService ? MOST_USED_COMMANDS : MOST_USED_WATCH_ONLY_COMMANDS;
  const shownCommands = mostUsed
    .flatMap((name) => commands.filter((command) => command.name === name))
    .filter((command) => canUse(command, reader) && !(command.name === 'link' && reader.isLinked))
    .slice(0, MAX_OVERVIEW_COMMANDS);
  return message('What /domain can do', [
    section(introText(reader)),
    ...lineSections(shownCommands.map(usageLine)),
    ...actions('help', [button('help_all', 'All commands', 'all')]),
    reader.hasService
      ? context(
          'To give approvers a reason, put it after two hyphens: `/domain renew cafe.rest 2 -- client paid`.',
          'To see an example of any command, use `/domain help` with its name, such as `/domain help renew`.',
          UNDOCUMENTED_TASKS_NOTE,
        )
      : WATCH_ONLY_EXAMPLE_HINT,
  ]);
}

/** Commands that the reader can't use come last. */
export function allCommandsHelp(commands: readonly HelpEntry[], reader: HelpReader): Message {
  const adminCommands = reader.isAdmin ? [] : commands.filter(({ needs }) => needs === 'admin');
  const groups: readonly CommandGroup[] = [
    ...listUsableGroups(commands, reader),
    {
      title: 'After you link an account',
      commands: commands.filter(({ needs }) => lacksAccount(needs, reader)),
    },
    { title: 'For admins', commands: adminCommands },
  ];
  return message('All commands', [
    section(reader.hasService ? INTRO : WATCH_ONLY_INTRO),
    ...groups.flatMap(({ title, commands: entries }) =>
      entries.length === 0 ? [] : lineSections([`*${title}*`, ...entries.map(usageLine)]),
    ),
    reader.hasService
      ? context(
          'To see an example of any command, use `/domain help` with its name, such as `/domain help renew`.',
          UNDOCUMENTED_TASKS_NOTE,
        )
      : WATCH_ONLY_EXAMPLE_HINT,
  ]);
}

const NEEDS_TEXTS: Readonly<Record<RegisteredCommand['needs'], string>> = {
  nothing: '',
  member: '',
  linked: 'You need a linked account. To link it, use `/domain link`.',
  account: 'You need your own account or the team’s. To link it, use `/domain link`.',
  admin: 'Only admins can use it.',
  service: '',
  linked_if_service: '',
  linked_or_owner: '',
};

const TIME_HINT = 'To send it later, end the command with a time, such as `at 2026-12-06 02:00`.';

export function commandHelp({ usage, summary, example, needs, time }: HelpEntry): Message {
  return textMessage(
    [
      `*\`/domain ${usage}\`*`,
      `${summary}.`,
      `For example: \`${example}\``,
      time === 'accepted' ? TIME_HINT : '',
      NEEDS_TEXTS[needs],
    ]
      .filter((line) => line !== '')
      .join('\n'),
  );
}

export const NO_SERVICE = textMessage(
  'No domain service is connected, so I can only watch names; the operator can set `SERVICE_JSON_URL` to connect one.',
);

export function unknownCommand(word: string, nearestCommand: string | undefined): Message {
  return textMessage(
    `${nearestCommand === undefined ? 'I don’t know this command.' : `${code(`/domain ${word}`)} isn’t a command. Did you mean ${code(`/domain ${nearestCommand}`)}?`} To list all commands, use \`/domain help\`.`,
  );
}
