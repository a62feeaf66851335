import { type Actor, defaultSeed, type Message, type Seed } from '@domain-steward/slack-workspace';
import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import {
  actAndReadReply,
  actUntilOpened,
  readCommandReply,
  textOf,
  until,
  useTestDemo,
} from '../support/demo.ts';

/*
 * A year with 200 names, 12 owners and four departures: owners answer with clicks, or not at all. The clock moves by
 * days in the first week, then by weeks.
 */

const NAMES = 200;
const PEOPLE = Array.from({ length: 12 }, (_, index) => `U0OWNER${index}`);
const DAYS = 365;
const DAY_MS = 86_400_000;
/** People who leave, by day. Their names are reassigned a week later. */
const DEPARTURES = new Map([
  [63, 'U0OWNER1'],
  [147, 'U0OWNER4'],
  [154, 'U0OWNER5'],
  [301, 'U0OWNER9'],
]);
const ASSIGNED_AFTER = 7;
const WEEK = 7;
/** The first threshold. */
const ASKED_DAYS = 30;

const t = useTestDemo({
  speedup: 8,
  linked: [],
  logLevel: 'warn',
  rateLimits: false,
  settings: {
    REMINDER_TIMEZONE: 'UTC',
    REMINDER_CRON: '0 9 * * *',
    REMINDER_DAYS: `${ASKED_DAYS},14,7`,
    ALERT_CHANNEL: 'C0DOMAINS',
  },
  seed: withOwners(defaultSeed()),
});

function withOwners({ users, channels }: Seed): Partial<Seed> {
  const [template] = users;
  if (template === undefined) throw new Error('the seed has no users');
  const owners = PEOPLE.map((id) => ({ ...template, id, name: id.toLowerCase(), real_name: id }));
  return {
    users: [...users, ...owners],
    channels: channels.map((each) => ({ ...each, members: [...each.members, ...PEOPLE] })),
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
    [NAMES, new Date(today()), PEOPLE, t.workspace.teamId],
  );
}

/** Renews each name in its last week, regardless of its answer. */
async function renewInLastWeek(): Promise<void> {
  await client.query(
    `UPDATE domains SET expires_at = expires_at + interval '365 days', reminded_threshold = 2147483647,
       lapse_reason = NULL, lapse_requested_by = NULL
     WHERE expires_at < $1::timestamptz + interval '8 days'`,
    [new Date(today())],
  );
}

const nameRows = z.array(
  z.object({ name: z.string(), owner: z.string(), left: z.number(), asked: z.string().nullable() }),
);

/** Names with their days left, and the expiry of the last question. */
async function readNames() {
  const { rows } = await client.query(
    `SELECT name, owner_id AS owner, extract(day FROM expires_at - $1::timestamptz)::int AS left,
       CASE WHEN abs(extract(epoch FROM expires_at - (question ->> 'expiry')::timestamptz)) < 86400 * 20
         THEN question ->> 'owner' END AS asked FROM domains`,
    [new Date(today())],
  );
  return nameRows.parse(rows);
}

/** Midnight of the current day by the demo's clock. */
function today(): number {
  return Math.floor(t.service.clock.registry() / DAY_MS) * DAY_MS;
}

/** A reproducible choice. */
function pick(seed: string, of: number): number {
  let hash = 7;
  for (const letter of seed) hash = (hash * 31 + letter.charCodeAt(0)) % 1_000_003;
  return hash % of;
}

const left = new Set<string>();

function pickPresentOwner(seed: string): string {
  const present = PEOPLE.filter((person) => !left.has(person));
  return present[pick(seed, present.length)] ?? '';
}

const menu = z.object({
  accessory: z.object({
    action_id: z.literal('owner_question'),
    options: z.array(z.object({ value: z.string() })),
  }),
});

function namesAskedIn({ blocks = [] }: Message): string[] {
  return blocks.flatMap((block) => {
    const read = menu.safeParse(block);
    return read.success ? (read.data.accessory.options[0]?.value.split(':')[1] ?? []) : [];
  });
}

const directMessages = (person: string) => t.workspace.messages(`D${person.slice(1)}`);

/** Most owners keep a name, some hand it over or let it lapse, some never answer. */
async function answer(person: Actor, message: Message, name: string, day: number): Promise<void> {
  const choice = pick(`${name} ${day}`, 10);
  const click = (action: string) => person.click(message, action, { value: name });
  if (choice < 6) await actAndReadReply(t.workspace, person, () => click('owner_keep'));
  if (choice === 6) {
    const owner = pickPresentOwner(`${name} ${day} to`);
    if (owner === person.user.id) return;
    const form = await actUntilOpened(t.workspace, person, () => click('owner_handover'));
    await actAndReadReply(t.workspace, person, () => person.submit(form, { owner, note: `from day ${day}` }));
  }
  if (choice === 7) {
    const form = await actUntilOpened(t.workspace, person, () => click('reminder_lapse'));
    await person.submit(form, { reason: 'not needed' });
  }
}

/** Gives a leaver's names to another person, from the alert. */
async function assignNames(leaver: string): Promise<void> {
  const alert = t.workspace
    .messages('C0DOMAINS')
    .findLast((each) => textOf(each).includes(`<@${leaver}> has left`));
  if (alert === undefined) throw new Error(`no alert about ${leaver}`);
  const form = await actUntilOpened(t.workspace, t.ada, () => t.ada.click(alert, 'owners_assign'));
  const names = (await readNames()).filter(({ owner }) => owner === leaver).map(({ name }) => name);
  await actAndReadReply(t.workspace, t.ada, () =>
    t.ada.submit(form, { names, owner: pickPresentOwner(leaver) }),
  );
}

test('over a year every name has an owner and a question, and nobody is asked twice', async () => {
  const problems: string[] = [];
  const asked = new Set<string>();
  const seen = new Map<string, number>();
  await t.demo.moveTime(today() + DAY_MS + 9 * 3_600_000 + 60_000 - t.service.clock.registry());
  await watchNames();

  /** The recipient of each new message of the day that isn't a reply. */
  let notified: readonly string[] = [];

  /** @returns whether there were new messages: answers can cause more */
  const readDay = async (day: number) => {
    await until('all notifications are sent', async () => (await countDueNotifications()) === 0);
    const before = countSeenMessages();
    for (const person of PEOPLE) {
      const messages = directMessages(person);
      const added = messages.slice(seen.get(person) ?? 0);
      seen.set(person, messages.length);
      notified = [
        ...notified,
        ...added.flatMap(({ thread_ts }) => (thread_ts === undefined ? [person] : [])),
      ];
      if (added.length > 0 && left.has(person)) problems.push(`${person} got a message after leaving`);
      for (const message of added)
        for (const name of namesAskedIn(message)) {
          const question = `${name} ${person} ${Math.floor(day / 300)}`;
          if (asked.has(question)) problems.push(`asked twice: ${question}`);
          asked.add(question);
          await answer(t.workspace.as(person), message, name, day);
        }
    }
    return countSeenMessages() > before;
  };
  const countSeenMessages = () => [...seen.values()].reduce((sum, count) => sum + count, 0);

  for (let day = 0, days = 1; day < DAYS; days = day < WEEK ? 1 : WEEK, day += days) {
    const leaver = DEPARTURES.get(day);
    if (leaver !== undefined) {
      left.add(leaver);
      await t.workspace.changePerson(leaver, { deleted: true });
    }
    const orphaned = DEPARTURES.get(day - ASSIGNED_AFTER);
    if (orphaned !== undefined) await assignNames(orphaned);
    await t.demo.moveTime(days * DAY_MS);
    notified = [];
    while (await readDay(day));
    if (new Set(notified).size < notified.length)
      problems.push(`two messages on day ${day}: ${notified.join(', ')}`);
    await renewInLastWeek();
  }

  for (const { name, owner, left: days, asked: askedOwner } of await readNames()) {
    if (left.has(owner)) problems.push(`${name} belongs to ${owner}, who left`);
    if (days < ASKED_DAYS && askedOwner === null) problems.push(`${name} has no question`);
  }
  expect(problems).toEqual([]);
  expect(asked.size).toBeGreaterThan(NAMES * 0.8);
  for (const filter of ['owner:none', 'owner:left'])
    expect(await readCommandReply(t.workspace, t.ada, `/domain names ${filter}`)).toMatch(/^No names match/);
}, 180_000);

async function countDueNotifications(): Promise<number> {
  const { rows } = await client.query(
    `SELECT count(*)::int AS count FROM notifications
     WHERE purpose = 'plan' AND due_at <= $1 AND subject_kind IN ('owner_question', 'digest', 'owner_left')`,
    [new Date(t.service.clock.registry())],
  );
  return z.array(z.object({ count: z.number() })).parse(rows)[0]?.count ?? 0;
}
