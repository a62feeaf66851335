import { setTimeout as sleep } from 'node:timers/promises';
import { isOffered } from '../capability.ts';
import {
  type ActionCall,
  type CommandCall,
  type Feature,
  type Interaction,
  isAdmin,
  type RegisteredCommand,
} from '../feature.ts';
import { findNearest } from '../kit/parse.ts';
import {
  allCommandsHelp,
  commandHelp,
  type HelpReader,
  helpOverview,
  NO_SERVICE,
  unknownCommand,
} from './help.view.ts';

/** Short, because people need help most during an outage. */
const READER_TIMEOUT_MS = 800;
/** Used if loading fails or times out. Most people have linked an account and aren't admins. */
const DEFAULT_READER = { isLinked: true, isAdmin: false };

async function loadReader(call: Interaction): Promise<HelpReader> {
  const { accounts, directory, hasService } = call.context;
  const readerPromise = Promise.all([
    call.loadAccount(),
    accounts.team.find(),
    directory.loadPerson(call.person.id, undefined),
  ]).then(
    ([account, team, person]) => ({
      isLinked: account !== undefined,
      hasTeamAccount: team !== undefined,
      isAdmin: isAdmin(call.context, person),
    }),
    () => DEFAULT_READER,
  );
  const reader = await Promise.race([
    readerPromise,
    sleep(READER_TIMEOUT_MS, DEFAULT_READER, { ref: false }),
  ]);
  return { ...reader, hasService };
}

export function createHelp(listCommands: () => readonly RegisteredCommand[]) {
  const helpCommand = {
    usage: 'help [SUBCOMMAND]',
    summary: 'Show what I can do',
    example: '/domain help renew',
    async run(call: CommandCall) {
      const allCommands = listCommands();
      const commands = allCommands.filter((command) => isOffered(command, call.context));
      const [word] = call.words;
      // Help changes nothing, so it can be acknowledged immediately.
      call.acknowledge();
      if (word === undefined) return call.respond(helpOverview(commands, await loadReader(call)));
      if (word.toLowerCase() === 'all')
        return call.respond(allCommandsHelp(commands, await loadReader(call)));
      const command = allCommands.find(({ name }) => name === word.toLowerCase());
      if (command !== undefined && !commands.includes(command)) return call.respond(NO_SERVICE);
      const names = commands.map(({ name }) => name);
      await call.respond(
        command === undefined
          ? unknownCommand(word, findNearest(word.toLowerCase(), names))
          : commandHelp(command),
      );
    },
  } as const;

  async function showAllCommands(call: ActionCall): Promise<void> {
    call.acknowledge();
    const commands = listCommands().filter((command) => isOffered(command, call.context));
    await call.respond(allCommandsHelp(commands, await loadReader(call)), { replace: true });
  }
  return {
    commands: [helpCommand],
    actions: [{ id: 'help_all', run: showAllCommands }],
  } as const satisfies Feature;
}
