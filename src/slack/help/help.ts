import { setTimeout as sleep } from 'node:timers/promises';
import {
  type ActionCall,
  type Command,
  type CommandCall,
  type Feature,
  type Interaction,
  isAdmin,
  withName,
} from '../feature.ts';
import { nearest } from '../kit/parse.ts';
import { type HelpReader, helpFor, helpForAll, helpOverview, unknownCommand } from './help.view.ts';

/*
 * Help.
 */

/** How long help waits to learn who reads it. Help is needed most while something is down. */
const READER_MS = 800;
/**
 * The reader when Slack or the database does not answer in time: most people are linked and are no
 * admins.
 */
const ANYBODY: HelpReader = { isLinked: true, isAdmin: false };

async function readerOf(call: Interaction): Promise<HelpReader> {
  const { accounts, directory } = call.deps;
  const known = Promise.all([
    call.account(),
    accounts.team.current(),
    directory.person(call.person.id, undefined),
  ]).then(
    ([account, team, person]) => ({
      isLinked: account !== undefined,
      hasTeamAccount: team !== undefined,
      isAdmin: isAdmin(call.deps, person),
    }),
    () => ANYBODY,
  );
  return Promise.race([known, sleep(READER_MS, ANYBODY, { ref: false })]);
}

/** @param others all other subcommands */
export function createHelp(others: readonly Command[]): Feature {
  const help: Command = {
    usage: 'help [SUBCOMMAND]',
    summary: 'Show what I can do',
    example: '/domain help renew',
    needs: 'nothing',
    async run(call: CommandCall) {
      const [word] = call.words;
      // Help changes nothing, so it is acknowledged before the reader is known.
      call.acknowledge();
      if (word === undefined) return call.respond(helpOverview(commands, await readerOf(call)));
      if (word.toLowerCase() === 'all') return call.respond(helpForAll(commands, await readerOf(call)));
      const command = commands.find(({ name }) => name === word.toLowerCase());
      const names = commands.map(({ name }) => name);
      await call.respond(
        command === undefined ? unknownCommand(word, nearest(word.toLowerCase(), names)) : helpFor(command),
      );
    },
  };
  const commands = [help, ...others].map(withName);

  async function showAll(call: ActionCall): Promise<void> {
    call.acknowledge();
    await call.respond(helpForAll(commands, await readerOf(call)), { replace: true });
  }
  return { commands: [help], actions: [{ id: 'help_all', needs: 'nothing', run: showAll }] };
}
