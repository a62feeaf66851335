import { EmbeddedPostgresError } from '@domain-steward/embedded-postgres';
import { createVault } from '../../accounts/vault.ts';
import { loadCredentialsKeys } from '../../config/credentials-key.ts';
import { readConfig, type TeamSettings } from '../../config/environment.ts';
import { applySavedSettings } from '../../config/settings.ts';
import { createSlackWeb } from '../../slack/outbound/web.ts';
import { createAccountStore } from '../../store/accounts.ts';
import { openDatabase } from '../../store/database.ts';
import { MigrationError, migrate } from '../../store/migrate.ts';
import { createSettingsStore } from '../../store/settings.ts';
import { type DoctorContext, runChecks } from '../doctor/doctor.ts';
import { type Finding, formatFinding, formatNextStep, formatSummary, wrong } from '../doctor/finding.ts';
import { type Command, UsageError, withDatabase } from './command.ts';

export const doctorCommand: Command = {
  usage: '',
  summary: 'check every setting for real, and say what to do',
  details:
    'One line per check: ok, warning or wrong. Exit code 1 if something is wrong. It checks most while the bot runs.',
  options: {},
  async run({ args, env, print }) {
    if (args.length > 0) throw new UsageError('doctor takes no arguments.');
    const config = readConfig(env);
    const findings: Finding[] = [];
    const report = (finding: Finding) => {
      findings.push(finding);
      print(formatFinding(finding));
    };
    const web = createSlackWeb(config.slack.botToken, config.slack.apiUrl);
    const sharedContext = {
      config,
      vault: createVault(loadCredentialsKeys(config)),
      web,
      now: () => new Date(),
    };
    const runAllChecks = async (settings: TeamSettings, database: DoctorContext['database']) => {
      for await (const finding of runChecks({ ...sharedContext, settings, database })) report(finding);
    };
    const checkWithDatabase = async (url: string) => {
      await migrate({ url });
      const database = openDatabase({ url });
      try {
        const settings = applySavedSettings(
          config.defaultSettings,
          await createSettingsStore(database).loadAll(),
        );
        await runAllChecks(settings, { url, accounts: createAccountStore(database) });
      } finally {
        await database.close();
      }
    };
    try {
      await withDatabase(config, () => undefined, checkWithDatabase);
    } catch (error) {
      if (!(error instanceof MigrationError || error instanceof EmbeddedPostgresError)) throw error;
      report(wrong('Database', `${error.message}.`, 'Fix that first.'));
      await runAllChecks(applySavedSettings(config.defaultSettings, {}), undefined);
    }
    print(formatSummary(findings));
    print(formatNextStep(findings));
    return findings.some(({ outcome }) => outcome === 'wrong') ? 1 : 0;
  },
};
