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
import { UNDOCUMENTED_TASKS } from '../names/rules.view.ts';

/* Help, and the answer to an unknown subcommand. */

type HelpEntry = Pick<RegisteredCommand, 'name' | 'usage' | 'summary' | 'example' | 'needs' | 'time'>;

export interface HelpReader extends Capability {
  readonly isLinked: boolean;
  /** The team's account is used for people who have no account of their own. */
  readonly hasTeamAccount?: boolean;
  readonly isAdmin: boolean;
}

const EVERYDAY = 'Everyday';

/** In display order. */
export const HELP_GROUPS: readonly { readonly title: string; readonly names: readonly string[] }[] = [
  { title: EVERYDAY, names: [] },
  {
    title: 'Search and lists',
    names: ['name', 'names', 'presets', 'rules', 'orders', 'order', 'receipt', 'prereg', 'policy', 'help'],
  },
  { title: 'Watch', names: ['expiring', 'posture', 'watch', 'unwatch', 'import', 'calendar'] },
  {
    title: 'People and money',
    names: ['link', 'whoami', 'use', 'unlink', 'key', 'away', 'back', 'mandates', 'prices', 'spend'],
  },
  { title: 'Admin', names: ['settings', 'audit', 'ledger'] },
];

interface Group {
  readonly title: string;
  readonly commands: readonly HelpEntry[];
}

/** The title of the group that a command belongs to. */
export function findGroup({ name }: { readonly name: string }): string {
  return HELP_GROUPS.find(({ names }) => names.includes(name))?.title ?? EVERYDAY;
}

function listUsableGroups(commands: readonly HelpEntry[], reader: HelpReader): Group[] {
  const getRank = ({ name }: HelpEntry) => HELP_GROUPS.flatMap(({ names }) => names).indexOf(name);
  return HELP_GROUPS.map(({ title }) => ({
    title,
    commands: commands
      .filter((command) => findGroup(command) === title && canUse(command, reader))
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
const LINK_FIRST = 'To start, link your domain service account with `/domain link`.';
const USES_TEAM_ACCOUNT =
  'You haven’t linked an account, so your approved orders use the team’s account. To link yours, use `/domain link`.';

const WATCH_ONLY_INTRO =
  '*Domain Steward* watches the expiry, DNS, registrar and certificates of your names, and tells you in a channel when you need to act.';

function introText({ hasService, isLinked, hasTeamAccount = false }: HelpReader): string {
  if (!hasService) return WATCH_ONLY_INTRO;
  if (isLinked) return INTRO;
  return `${INTRO}\n${hasTeamAccount ? USES_TEAM_ACCOUNT : LINK_FIRST}`;
}

function usageLine({ usage, summary }: HelpEntry): string {
  return `\`/domain ${usage}\`  ${summary}`;
}

/** The overview shows the first of these that the reader can use. */
const MOST_USED = ['link', 'renew', 'create', 'name', 'orders', 'expiring', 'watch', 'import'];
const MOST_USED_WATCH_ONLY = ['watch', 'import', 'expiring', 'name', 'names'];
const MAX_OVERVIEW_COMMANDS = 5;
const WATCH_ONLY_EXAMPLE = context(
  'To see an example of any command, use `/domain help` with its name, such as `/domain help watch`.',
);

export function helpOverview(commands: readonly HelpEntry[], reader: HelpReader): Message {
  const mostUsed = reader.hasService ? MOST_USED : MOST_USED_WATCH_ONLY;
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
          UNDOCUMENTED_TASKS,
        )
      : WATCH_ONLY_EXAMPLE,
  ]);
}

/** Commands that the reader can't use come last. */
export function allCommandsHelp(commands: readonly HelpEntry[], reader: HelpReader): Message {
  const adminCommands = reader.isAdmin ? [] : commands.filter(({ needs }) => needs === 'admin');
  const groups: readonly Group[] = [
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
          UNDOCUMENTED_TASKS,
        )
      : WATCH_ONLY_EXAMPLE,
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
      ...[`*\`/domain ${usage}\`*`, `${summary}.`, `For example: \`${example}\``],
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

export function unknownCommand(word: string, nearest: string | undefined): Message {
  return textMessage(
    `${nearest === undefined ? 'I don’t know this command.' : `${code(`/domain ${word}`)} isn’t a command. Did you mean ${code(`/domain ${nearest}`)}?`} To list all commands, use \`/domain help\`.`,
  );
}
