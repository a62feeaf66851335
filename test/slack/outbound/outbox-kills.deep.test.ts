import { startWorkspace, type Workspace } from '@domain-steward/slack-workspace';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { NotificationStore, Subject } from '../../../src/outbox/notifications.ts';
import { formatSubjectKey } from '../../../src/outbox/notifications.ts';
import { Secret } from '../../../src/service/secret.ts';
import { textMessage } from '../../../src/slack/kit/blocks.ts';
import { type NotificationPlanner, notify } from '../../../src/slack/outbound/notify.ts';
import { createSlackWeb, type SlackWeb } from '../../../src/slack/outbound/web.ts';
import { type Database, openDatabase } from '../../../src/store/database.ts';
import { createNotificationStore } from '../../../src/store/notifications.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { DOMAINS } from '../../support/demo.ts';
import { notifierDeps } from '../../support/notifier.ts';
import { seededRandom } from '../../support/seeded.ts';

/*
 * Two outbox processes share a database, and are killed repeatedly, before and after all kinds of calls.
 * Every message is posted in its latest version. No message is posted twice, unless Slack accepted it from
 * a process that died before recording it.
 */

const GENERAL_CHANNEL = 'C0GENERAL';
const KILL_COUNT = 300;
const SUBJECT_COUNT = 60;
const CLAIM_LIMIT = 4;
/** Longer than the test. A killed process's claims are freed as if its lease had expired. */
const LEASE_MS = 600_000;
const SEED = Number(process.env['SEED'] ?? 20_261_123);

let database: TestDatabase;
let db: Database;
let workspace: Workspace;
let web: SlackWeb;
let store: NotificationStore;

beforeAll(async () => {
  [database, workspace] = await Promise.all([createTestDatabase(), startWorkspace()]);
  db = openDatabase({ url: database.url });
  store = createNotificationStore(db, 'T0TEAM');
  web = createSlackWeb(new Secret(workspace.botToken), workspace.apiUrl);
});
afterAll(async () => {
  await workspace.close();
  await db.close();
  await database.drop();
});

const random = seededRandom(SEED);
const randomBelow = (n: number) => Math.floor(random() * n);

/** Moments when a process can die. */
const KILL_MOMENTS = [
  ...(['claimDue', 'claim', 'read', 'record', 'release'] as const).flatMap((call) => [
    `before ${call}`,
    `after ${call}`,
  ]),
  ...['chat.postMessage', 'chat.update'].flatMap((method) => [`before ${method}`, `after ${method}`]),
];

class KilledError extends Error {
  override readonly name = 'KilledError';
}

/** How often Slack accepted a message from a process that died before recording it. */
const unrecordedPosts = new Map<string, number>();
/** How often a process died at each moment. */
const killsByMoment = new Map<string, number>();

/** An outbox process, which dies when it reaches its moment for the last of a few times. */
class Outbox {
  isDead = false;
  readonly #inHand = new Map<string, Subject>();
  readonly #moment = KILL_MOMENTS[randomBelow(KILL_MOMENTS.length)] ?? '';
  #left = 1 + randomBelow(3);

  #reach(moment: string): void {
    if (this.isDead) throw new KilledError();
    if (moment !== this.#moment) return;
    this.#left -= 1;
    if (this.#left > 0) return;
    this.isDead = true;
    killsByMoment.set(moment, (killsByMoment.get(moment) ?? 0) + 1);
    throw new KilledError();
  }

  /** Makes a call, unless the process dies before or after it. */
  async #call<T>(name: string, work: () => Promise<T>): Promise<T> {
    this.#reach(`before ${name}`);
    const result = await work();
    this.#reach(`after ${name}`);
    return result;
  }

  readonly #store: NotificationStore = {
    ...store,
    claimDueSubjects: (...args) =>
      this.#call('claimDue', async () => {
        const due = await store.claimDueSubjects(...args);
        for (const subject of due) this.#inHand.set(formatSubjectKey(subject), subject);
        return due;
      }),
    claim: (subject, ...args) =>
      this.#call('claim', async () => {
        const claim = await store.claim(subject, ...args);
        if (claim !== undefined) this.#inHand.set(formatSubjectKey(subject), subject);
        return claim;
      }),
    loadSubject: (...args) => this.#call('read', () => store.loadSubject(...args)),
    release: (claim, ...args) =>
      this.#call('release', async () => {
        const isReleased = await store.release(claim, ...args);
        if (isReleased) this.#inHand.delete(formatSubjectKey(claim));
        return isReleased;
      }),
    recordPosted: async (subject, notification, ...args) => {
      const text = `${subject.id} ${notification.purpose}`;
      try {
        this.#reach('before record');
      } catch (error) {
        unrecordedPosts.set(text, (unrecordedPosts.get(text) ?? 0) + 1);
        throw error;
      }
      const isFirst = await store.recordPosted(subject, notification, ...args);
      this.#reach('after record');
      return isFirst;
    },
    postponeSubject: async (...args) => {
      if (!this.isDead) await store.postponeSubject(...args);
    },
  };

  readonly #web: SlackWeb = {
    call: async (method, args, answer) => {
      this.#reach(`before ${method}`);
      const result = await web.call(method, args, answer);
      try {
        this.#reach(`after ${method}`);
      } catch (error) {
        const text = String(args['text']).replace(/ v\d+$/, '');
        if (method === 'chat.postMessage') unrecordedPosts.set(text, (unrecordedPosts.get(text) ?? 0) + 1);
        throw error;
      }
      return result;
    },
  };

  readonly #deps = notifierDeps(
    { notifications: this.#store, web: this.#web, now: () => new Date(), leaseMs: LEASE_MS },
    { report: planner },
  );

  /** Sends due messages, and those of a subject that this process has just changed, until it dies. */
  async sendDue(changedSubject: Subject | undefined): Promise<void> {
    const claimed = await this.#store.claimDueSubjects(new Date(), LEASE_MS, CLAIM_LIMIT).catch(ignoreKill);
    await Promise.all([
      ...(claimed ?? []).map((subject) => notify(this.#deps, subject, true).catch(ignoreKill)),
      changedSubject === undefined ? undefined : notify(this.#deps, changedSubject).catch(ignoreKill),
    ]);
  }

  /** Frees its claims as if their leases had expired. */
  async freeLeases(): Promise<void> {
    for (const { id } of this.#inHand.values())
      await db.prisma.notification.updateMany({
        where: { subjectId: id, purpose: 'plan' },
        data: { leaseUntil: new Date(0) },
      });
  }
}

function ignoreKill(error: unknown): undefined {
  if (!(error instanceof KilledError)) throw error;
}

/** Plans a card that shows the version, a copy of it elsewhere, and a reply for each version. */
const planner: NotificationPlanner = async ({ id, version }, send) => {
  const occurredAt = new Date();
  const createMessage = (purpose: string) => () => textMessage(`${id} ${purpose} v${version}`);
  const sharedFields = { version: String(version), occurredAt };
  const card = await send({
    ...sharedFields,
    purpose: 'card',
    places: [async () => ({ channelId: DOMAINS })],
    message: createMessage('card'),
  });
  await send({
    ...sharedFields,
    purpose: 'copy',
    places: [async () => ({ channelId: GENERAL_CHANNEL })],
    message: createMessage('copy'),
  });
  for (let n = 1; n <= version; n += 1) {
    const { message } = card;
    if (message === undefined) break;
    await send({
      purpose: `reply:${n}`,
      version: 'once',
      occurredAt,
      places: [async () => ({ channelId: message.channelId, threadTs: message.ts })],
      message: () => textMessage(`${id} reply:${n}`),
    });
  }
  return undefined;
};

const isOutboxEmpty = async () =>
  (await db.prisma.notification.count({ where: { purpose: 'plan', dueAt: { not: null } } })) === 0;

test(`two outboxes that are killed ${KILL_COUNT} times post everything once (SEED=${SEED})`, async () => {
  const subjects: readonly Subject[] = Array.from({ length: SUBJECT_COUNT }, (_, n) => ({
    kind: 'report',
    id: `subject-${n}`,
  }));
  for (const subject of subjects) await store.addSubjectIfMissing(subject, new Date());
  let kills = 0;
  const runOutbox = async () => {
    let outbox = new Outbox();
    while (kills < KILL_COUNT) {
      const subject = subjects[randomBelow(SUBJECT_COUNT)];
      if (subject === undefined) continue;
      await store.requestUpdate(subject, new Date());
      await outbox.sendDue(randomBelow(2) === 0 ? subject : undefined);
      if (!outbox.isDead) continue;
      kills += 1;
      await outbox.freeLeases();
      outbox = new Outbox();
    }
    await outbox.freeLeases();
  };
  await Promise.all([runOutbox(), runOutbox()]);
  // No process is killed any more.
  const survivor = notifierDeps({ notifications: store, web, now: () => new Date() }, { report: planner });
  while (!(await isOutboxEmpty()))
    for (const subject of await store.claimDueSubjects(new Date(), LEASE_MS, 100))
      await notify(survivor, subject, true);

  expect([...killsByMoment.keys()].toSorted()).toEqual(KILL_MOMENTS.toSorted());
  const messages = new Map(
    [...workspace.messages(DOMAINS), ...workspace.messages(GENERAL_CHANNEL)].map((m) => [m.ts, m]),
  );
  const posts = new Map<string, number>();
  for (const { text } of messages.values()) {
    const messageKey = text.replace(/ v\d+$/, '');
    posts.set(messageKey, (posts.get(messageKey) ?? 0) + 1);
  }
  const duplicates = [...posts].filter(
    ([messageKey, count]) => count > 1 + (unrecordedPosts.get(messageKey) ?? 0),
  );
  expect(duplicates, 'messages that were posted again although their post was recorded').toEqual([]);
  for (const subject of subjects) {
    const { version = 0, notifications = [] } = (await store.loadSubject(subject)) ?? {};
    const postedTexts = notifications.map(({ purpose, message }) => [
      purpose,
      messages.get(message?.ts ?? '')?.text,
    ]);
    const replies = Array.from({ length: version }, (_, n) => `reply:${n + 1}`);
    expect(Object.fromEntries(postedTexts)).toEqual({
      card: `${subject.id} card v${version}`,
      copy: `${subject.id} copy v${version}`,
      ...Object.fromEntries(replies.map((purpose) => [purpose, `${subject.id} ${purpose}`])),
    });
  }
}, 60_000);
