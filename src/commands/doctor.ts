import { createVault } from '../accounts/vault.ts';
import { mistypedVariables, readConfig } from '../config.ts';
import { examine } from '../doctor/doctor.ts';
import { type Finding, formatFinding, warning } from '../doctor/finding.ts';
import { createAccountStore } from '../store/accounts.ts';
import { openDatabase } from '../store/database.ts';
import { migrate } from '../store/migrate.ts';
import { type Command, UsageError, withDatabase } from './command.ts';

export const doctorCommand: Command = {
  usage: '',
  summary: 'try every setting for real, and say what to do',
  details:
    'A line for each check: ok, warning or wrong. It ends with 1 when something is wrong. While the bot runs it can say most.',
  options: {},
  async run({ args, env, print }) {
    if (args.length > 0) throw new UsageError('doctor takes no arguments.');
    const config = readConfig(env);
    const found: Finding[] = [];
    const report = (finding: Finding) => {
      found.push(finding);
      print(formatFinding(finding));
    };
    for (const [name, meant] of mistypedVariables(env))
      report(warning('Settings', `${name} is not read.`, `Was ${meant} meant?`));
    await withDatabase(
      config,
      () => undefined,
      async (url) => {
        await migrate({ url });
        const database = openDatabase({ url });
        try {
          const accounts = createAccountStore(database);
          const vault = createVault(config.credentialsKeys);
          const deps = { config, databaseUrl: url, accounts, vault, now: () => new Date() };
          for await (const finding of examine(deps)) report(finding);
        } finally {
          await database.close();
        }
      },
    );
    const count = (outcome: Finding['outcome']) =>
      found.filter((finding) => finding.outcome === outcome).length;
    print(`${count('wrong')} wrong, ${count('warning')} to look at, ${count('ok')} ok.`);
    return count('wrong') > 0 ? 1 : 0;
  },
};
