import { type Actor, createDefaultSeed, type Message, type Seed } from '@domain-steward/slack-workspace';
import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import {
  performAndReadReply,
  performAndWaitForView,
  readCommandReply,
  textOf,
  until,
  useTestDemo,
} from '../support/demo.ts';

/*
 * A year with 200 names, 12 owners and four departures. Owners answer questions with clicks, or not at all.
 * The clock moves by days in the first week, then by weeks.
 */

const NAME_COUNT = 200;
const OWNER_IDS = Array.from({ length: 12 }, (_, index) => `U0OWNER${index}`);
const TOTAL_DAYS = 365;
const DAY_MS = 86_400_000;
/** People who leave, by day. Their names are reassigned a week later. */
const DEPARTURES = new Map([
  [63, 'U0OWNER1'],
  [147, 'U0OWNER4'],
  [154, 'U0OWNER5'],
  [301, 'U0OWNER9'],
]);
const DAYS_UNTIL_REASSIGNED = 7;
const DAYS_PER_WEEK = 7;
const FIRST_REMINDER_DAYS = 30;

const t = useTestDemo({
  speedup: 8,
  linkedPeople: [],
  logLevel: 'warn',
  rateLimits: false,
  settings: {
    REMINDER_TIMEZONE: 'UTC',
    REMINDER_CRON: '0 9 * * *',
    REMINDER_DAYS: `${FIRST_REMINDER_DAYS},14,7`,
    ALERT_CHANNEL: 'C0DOMAINS',
  },
  seed: addOwners(createDefaultSeed()),
});

function addOwners({ users, channels }: Seed): Partial<Seed> {
  const [template] = users;
  if (template === undefined) throw new Error('the seed has no users');
  const owners = OWNER_IDS.map((id) => ({ ...template, id, name: id.toLowerCase(), real_name: id }));
  return {
    users: [...users, ...owners],
    channels: channels.map((each) => ({ ...each, members: [...each.members, ...OWNER_IDS] })),
  };
}

let client: pg.Client;
beforeAll(async () => {
  client = new pg.Client({ connectionString: t.databaseUrl });
  await client.connect();
});
afterAll(() => client.end());

/** Adds the names. No lookup is due within the year. */
async function watchNames(): Promise<void> {
  await client.query(
    `INSERT INTO domains (name, expires_at, expiry_source, added_by, added_at, next_dns_lookup_at, next_registry_lookup_at, last_lookup_at,
       tags, owner_id, team_id, urgent)
     SELECT 'n' || n || '.rest', $2::timestamptz + interval '1 day' * (5 + n * 37 % 390), 'rdap', 'U0ADA', now(),
       now() + interval '10 years', now() + interval '10 years', now(), ARRAY[]::text[],
       ($3::text[])[1 + n % array_length($3::text[], 1)], $4::text, false
     FROM generate_series(0, $1::int - 1) n`,
    [NAME_COUNT, new Date(getToday()), OWNER_IDS, t.workspace.teamId],
  );
}

/** Renews each name in its last week, regardless of the owner's answer. */
async function renewInLastWeek(): Promise<void> {
  await client.query(
    `UPDATE domains SET expires_at = expires_at + interval '365 days', reminded_threshold = 2147483647,
       lapse_reason = NULL, lapse_requested_by = NULL
     WHERE expires_at < $1::timestamptz + interval '8 days'`,
    [new Date(getToday())],
  );
}

const nameRows = z.array(
  z.object({ name: z.string(), owner: z.string(), left: z.number(), asked: z.string().nullable() }),
);

/** Each name with its days left, and the owner who was asked about its current expiry date. */
async function readNames() {
  const { rows } = await client.query(
    `SELECT name, owner_id AS owner, extract(day FROM expires_at - $1::timestamptz)::int AS left,
       CASE WHEN abs(extract(epoch FROM expires_at - (question ->> 'expiry')::timestamptz)) < 86400 * 20
         THEN question ->> 'owner' END AS asked FROM domains`,
    [new Date(getToday())],
  );
  return nameRows.parse(rows);
}

/** Midnight of the current day by the demo's clock. */
function getToday(): number {
  return Math.floor(t.service.clock.registryTime() / DAY_MS) * DAY_MS;
}

/** A reproducible index below a count. */
function pickIndex(seed: string, count: number): number {
  let hash = 7;
  for (const letter of seed) hash = (hash * 31 + letter.charCodeAt(0)) % 1_000_003;
  return hash % count;
}

const departedPeople = new Set<string>();

function pickPresentOwner(seed: string): string {
  const present = OWNER_IDS.filter((person) => !departedPeople.has(person));
  return present[pickIndex(seed, present.length)] ?? '';
}

const questionMenu = z.object({
  accessory: z.object({
    action_id: z.literal('owner_question'),
    options: z.array(z.object({ value: z.string() })),
  }),
});

function listAskedNames({ blocks = [] }: Message): string[] {
  return blocks.flatMap((block) => {
    const read = questionMenu.safeParse(block);
    return read.success ? (read.data.accessory.options[0]?.value.split(':')[1] ?? []) : [];
  });
}

const listDirectMessages = (person: string) => t.workspace.messages(`D${person.slice(1)}`);

/** Most owners keep a name, some hand it over or let it lapse, some never answer. */
async function answerQuestion(person: Actor, message: Message, name: string, day: number): Promise<void> {
  const choice = pickIndex(`${name} ${day}`, 10);
  const click = (action: string) => person.click(message, action, { value: name });
  if (choice < 6) await performAndReadReply(t.workspace, person, () => click('owner_keep'));
  if (choice === 6) {
    const owner = pickPresentOwner(`${name} ${day} to`);
    if (owner === person.user.id) return;
    const form = await performAndWaitForView(t.workspace, person, () => click('owner_handover'));
    await performAndReadReply(t.workspace, person, () =>
      person.submit(form, { owner, note: `from day ${day}` }),
    );
  }
  if (choice === 7) {
    const form = await performAndWaitForView(t.workspace, person, () => click('reminder_lapse'));
    await person.submit(form, { reason: 'not needed' });
  }
}

/** Gives a leaver's names to another person, from the alert. */
async function reassignNames(leaver: string): Promise<void> {
  const alert = t.workspace
    .messages('C0DOMAINS')
    .findLast((each) => textOf(each).includes(`<@${leaver}> has left`));
  if (alert === undefined) throw new Error(`no alert about ${leaver}`);
  const form = await performAndWaitForView(t.workspace, t.ada, () => t.ada.click(alert, 'owners_assign'));
  const names = (await readNames()).filter(({ owner }) => owner === leaver).map(({ name }) => name);
  await performAndReadReply(t.workspace, t.ada, () =>
    t.ada.submit(form, { names, owner: pickPresentOwner(leaver) }),
  );
}

test('over a year, each name has an owner, who is asked about it once per expiry date', async () => {
  const problems: string[] = [];
  const askedQuestions = new Set<string>();
  const seenMessageCounts = new Map<string, number>();
  await t.demo.moveTime(getToday() + DAY_MS + 9 * 3_600_000 + 60_000 - t.service.clock.registryTime());
  await watchNames();

  /** The recipient of each new message of the day that isn't a reply. */
  let notified: readonly string[] = [];

  /** Reads and answers new messages. @returns whether there were any, because answers can cause more */
  const answerNewMessages = async (day: number) => {
    await until('all notifications are sent', async () => (await countDueNotifications()) === 0);
    const before = countSeenMessages();
    for (const person of OWNER_IDS) {
      const messages = listDirectMessages(person);
      const added = messages.slice(seenMessageCounts.get(person) ?? 0);
      seenMessageCounts.set(person, messages.length);
      notified = [
        ...notified,
        ...added.flatMap(({ thread_ts }) => (thread_ts === undefined ? [person] : [])),
      ];
      if (added.length > 0 && departedPeople.has(person))
        problems.push(`${person} got a message after leaving`);
      for (const message of added)
        for (const name of listAskedNames(message)) {
          const question = `${name} ${person} ${Math.floor(day / 300)}`;
          if (askedQuestions.has(question)) problems.push(`asked twice: ${question}`);
          askedQuestions.add(question);
          await answerQuestion(t.workspace.as(person), message, name, day);
        }
    }
    return countSeenMessages() > before;
  };
  const countSeenMessages = () => [...seenMessageCounts.values()].reduce((sum, count) => sum + count, 0);

  for (let day = 0, days = 1; day < TOTAL_DAYS; days = day < DAYS_PER_WEEK ? 1 : DAYS_PER_WEEK, day += days) {
    const leaver = DEPARTURES.get(day);
    if (leaver !== undefined) {
      departedPeople.add(leaver);
      await t.workspace.changePerson(leaver, { deleted: true });
    }
    const leaverToReplace = DEPARTURES.get(day - DAYS_UNTIL_REASSIGNED);
    if (leaverToReplace !== undefined) await reassignNames(leaverToReplace);
    await t.demo.moveTime(days * DAY_MS);
    notified = [];
    while (await answerNewMessages(day));
    if (new Set(notified).size < notified.length)
      problems.push(`two messages on day ${day}: ${notified.join(', ')}`);
    await renewInLastWeek();
  }

  for (const { name, owner, left: days, asked: askedOwner } of await readNames()) {
    if (departedPeople.has(owner)) problems.push(`${name} belongs to ${owner}, who left`);
    if (days < FIRST_REMINDER_DAYS && askedOwner === null) problems.push(`${name} has no question`);
  }
  expect(problems).toEqual([]);
  expect(askedQuestions.size).toBeGreaterThan(NAME_COUNT * 0.8);
  for (const filter of ['owner:none', 'owner:left'])
    expect(await readCommandReply(t.workspace, t.ada, `/domain names ${filter}`)).toMatch(/^No names match/);
}, 180_000);

async function countDueNotifications(): Promise<number> {
  const { rows } = await client.query(
    `SELECT count(*)::int AS count FROM notifications
     WHERE purpose = 'plan' AND due_at <= $1 AND subject_kind IN ('owner_question', 'digest', 'owner_left')`,
    [new Date(t.service.clock.registryTime())],
  );
  return z.array(z.object({ count: z.number() })).parse(rows)[0]?.count ?? 0;
}
