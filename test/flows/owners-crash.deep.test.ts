import type { Message } from '@domain-steward/slack-workspace';
import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { CrashSite } from '../support/crash.ts';
import { textOf, until } from '../support/demo.ts';

/*
 * The bot is killed (SIGKILL) while it asks an owner about names, and restarted. The owner is asked about
 * each name once. Only a message that was posted but not recorded is posted a second time.
 */

const MAX_WAIT_MS = 60_000;
/** Below the first of `REMINDER_DAYS`, and more than two days before the next. */
const DAYS_LEFT = 25;

let site: CrashSite;
let db: pg.Pool;
beforeAll(async () => {
  site = await CrashSite.open(() => ({ REMINDER_DAYS: '30,7' }));
  db = new pg.Pool({ connectionString: site.environment.databaseUrl, max: 1 });
  db.on('error', () => undefined);
}, MAX_WAIT_MS);
afterAll(async () => {
  await db.end();
  await site.close();
});

/** Adds names with this owner and without due lookups. */
async function addNames(owner: string, names: readonly string[]): Promise<void> {
  await db.query(
    `INSERT INTO domains (name, expires_at, expiry_source, added_by, added_at, next_dns_lookup_at, next_registry_lookup_at, last_lookup_at,
       tags, owner_id, team_id, urgent)
     SELECT name, now() + $2 * interval '1 day', 'rdap', 'U0ADA', now(), now() + interval '10 years',
       now() + interval '10 years', now(), ARRAY[]::text[], $3, $4, false FROM unnest($1::text[]) AS name`,
    [names, DAYS_LEFT, owner, site.environment.workspace.teamId],
  );
}

async function readQuestions(names: readonly string[]): Promise<readonly unknown[]> {
  const { rows } = await db.query('SELECT question FROM domains WHERE name = ANY ($1) ORDER BY name', [
    names,
  ]);
  return rows.map(({ question }) => question);
}

async function isQuestionSent(owner: string): Promise<boolean> {
  const { rows } = await db.query(
    `SELECT FROM notifications WHERE subject_kind = 'owner_question' AND subject_id LIKE $1 AND purpose = 'plan'
       AND due_at IS NULL AND lease_until IS NULL`,
    [`${owner} %`],
  );
  return rows.length === 1;
}

/** Advances the bot's clock to this day, and waits until due work is done. */
async function advanceToDay(day: number): Promise<void> {
  const { child } = site.bot;
  process.kill(child.pid, 'SIGUSR2');
  await child.waitForLine(new RegExp(`^days gone by: ${day}$`, 'm'));
}

test.each([
  ['question not posted', 'U0CAROL', 'D0CAROL', 1],
  ['question posted, not recorded', 'U0BOB', 'D0BOB', 2],
] as const)(
  'a bot killed at “%s” asks the owner about every name',
  async (killPoint, owner, channel, postCount) => {
    const names = ['one', 'two', 'three'].map((name) => `${name}-of-${owner.toLowerCase()}.rest`);
    const listQuestionMessages = () =>
      site.environment.workspace
        .messages(channel)
        .filter((each) => names.some((name) => textOf(each).includes(name)));
    const isComplete = (message: Message) =>
      names.every((name) => textOf(message).includes(`*${name}*`)) &&
      textOf(message).startsWith('Do you still need these 3 names?');

    await addNames(owner, names);
    await site.restartUntilCrash(killPoint);
    expect(listQuestionMessages(), 'before the restart').toHaveLength(postCount - 1);
    const questions = await readQuestions(names);
    await site.restart();
    await until('the question is sent', () => isQuestionSent(owner), MAX_WAIT_MS);
    expect(listQuestionMessages().map(isComplete)).toEqual(Array.from({ length: postCount }, () => true));

    for (const day of [1, 2]) await advanceToDay(day);
    expect(listQuestionMessages(), 'after two days').toHaveLength(postCount);
    expect(await readQuestions(names)).toEqual(questions);

    // Answers are accepted on the unrecorded message too, and shown on the recorded one.
    const person = site.environment.workspace.as(owner);
    for (const [index, message] of listQuestionMessages().entries()) {
      await person.click(message, 'owner_keep', { value: names[index] ?? '' });
    }
    await until('the answers are shown', () => {
      const text = textOf(listQuestionMessages().at(-1) ?? { blocks: [] });
      return names.slice(0, postCount).every((name) => text.includes(`*${name}* · you’re keeping it`));
    });
  },
  MAX_WAIT_MS,
);
