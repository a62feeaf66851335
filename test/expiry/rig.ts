import { z } from 'zod';
import { readConfig, type TeamSettings } from '../../src/config/environment.ts';
import { applySavedSettings } from '../../src/config/settings.ts';
import type { MonthCount } from '../../src/expiry/chart.ts';
import { openDigest } from '../../src/expiry/digest.ts';
import type { ListedName } from '../../src/expiry/expiry.ts';
import { createWatchedDomain } from '../../src/expiry/newly-watched.ts';
import type {
  DigestHead,
  DigestPart,
  DigestReply,
  ReminderStore,
  WatchedDomain,
} from '../../src/expiry/ports.ts';
import { createLog } from '../../src/lib/log.ts';
import type { DetailsChange } from '../../src/names/portfolio.ts';
import type { NotificationStore } from '../../src/outbox/notifications.ts';
import { createUnreachableChannelPlanner } from '../../src/slack/admins/admins.ts';
import type { AdminsToNotify } from '../../src/slack/context.ts';
import { createDigestPlanner } from '../../src/slack/expiry/digest-notifications.ts';
import { createOwnerDayPlanner, type OwnerThreadPart } from '../../src/slack/expiry/owner-day.ts';
import { type Message, textMessage } from '../../src/slack/kit/blocks.ts';
import type { SlackDirectory } from '../../src/slack/outbound/directory.ts';
import { type NotifierDeps, notify } from '../../src/slack/outbound/notify.ts';
import { SlackApiError, type SlackWeb } from '../../src/slack/outbound/web.ts';
import { type Database, openDatabase } from '../../src/store/database.ts';
import { removeDomain } from '../../src/store/domain-statements.ts';
import { createNotificationStore } from '../../src/store/notifications.ts';
import { createPortfolioStore } from '../../src/store/portfolio.ts';
import { createReminderStore } from '../../src/store/reminders.ts';
import { slackContextWith } from '../support/context.ts';
import { createTestDatabase } from '../support/database.ts';
import { notifierDeps } from '../support/notifier.ts';
import { createTestWatchList, editNames } from '../support/unprotected.ts';

export const DAY_MS = 86_400_000;
export const MINUTE_MS = 60_000;
const REMINDER_CHANNEL = 'C0EXPIRY';
const TEAM_ID = 'T0TEAM';

export const silentLog = createLog('silent');

const { defaultSettings } = readConfig({
  SLACK_BOT_TOKEN: 'xoxb-test',
  SLACK_SIGNING_SECRET: 'a-signing-secret',
  SERVICE_JSON_URL: 'http://127.0.0.1:1/v1',
  CREDENTIALS_KEYS: `test:${Buffer.alloc(32).toString('base64')}`,
  APPROVERS: 'U0BOB',
  REMINDER_CHANNEL,
  REMINDER_TIMEZONE: 'Europe/Berlin',
});

/** The content of a message. */
type RenderedContent =
  | { readonly head: DigestHead }
  | { readonly reply: DigestReply }
  | { readonly months: readonly MonthCount[] }
  | { readonly question: OwnerThreadPart };

/** A digest's reminder of a name. */
export interface PostedReminder {
  readonly name: string;
  readonly threshold: number;
  readonly daysLeft: number;
  readonly at: Date;
  /** The channel or person of the message. */
  readonly to: string;
}

/** The admin who is notified if posting to a channel fails. */
const ADMIN_ID = 'U0ADMIN';

/** Replaces Slack and records posts. */
class FakePoster {
  readonly heads: DigestHead[] = [];
  readonly charts: { readonly at: Date; readonly months: readonly MonthCount[] }[] = [];
  readonly replies: DigestReply[] = [];
  readonly questions: OwnerThreadPart[] = [];
  readonly postedReminders: PostedReminder[] = [];
  readonly adminMessages: string[] = [];
  /** Runs before each post. A {@link SlackApiError} fails the post; any other error kills the process. */
  beforePost: (to: string) => Promise<void> | void = () => undefined;
  /** People who have left the workspace. */
  readonly departedPeople = new Set<string>();
  /** The content of messages, by their text. */
  readonly #rendered = new Map<string, RenderedContent>();
  #posts = 0;
  readonly #now: () => Date;

  constructor(now: () => Date) {
    this.#now = now;
  }

  readonly views = {
    renderHead: async (head: DigestHead) => this.#render({ head }),
    renderReply: async (reply: DigestReply) => this.#render({ reply }),
    renderMonths: async (months: readonly MonthCount[]) => this.#render({ months }),
    renderQuestion: async (question: OwnerThreadPart) => this.#render({ question }),
  };

  readonly directory = {
    openDirectMessage: async (userId: string) => userId,
    findMembership: async (userId: string) =>
      this.departedPeople.has(userId) ? ('left' as const) : ('member' as const),
  };

  async post(channel: string, text: string): Promise<{ readonly channel: string; readonly ts: string }> {
    this.#posts += 1;
    const response = { ok: true, channel, ts: `${this.#posts}.0` };
    if (channel === ADMIN_ID) {
      this.adminMessages.push(text);
      return response;
    }
    await this.beforePost(channel);
    const rendered = this.#rendered.get(text);
    if (rendered === undefined) throw new Error(`no message has the text ${text}`);
    if ('months' in rendered) {
      this.charts.push({ at: this.#now(), months: rendered.months });
      return response;
    }
    if ('question' in rendered) {
      const { questions, reminders } = rendered.question;
      this.questions.push(rendered.question);
      for (const { domain } of questions)
        this.postedReminders.push({
          name: domain.name,
          threshold: 0,
          daysLeft: 0,
          at: this.#now(),
          to: channel,
        });
      this.#record({ reminders }, channel);
      return response;
    }
    if ('head' in rendered) this.heads.push(rendered.head);
    else this.replies.push(rendered.reply);
    this.#record('head' in rendered ? rendered.head : rendered.reply, channel);
    return response;
  }

  #render(content: RenderedContent): Message {
    const text = `message ${this.#rendered.size}`;
    this.#rendered.set(text, content);
    return textMessage(text);
  }

  #record({ reminders }: Pick<DigestPart, 'reminders'>, to: string): void {
    for (const { name, threshold, daysLeft } of reminders) {
      this.postedReminders.push({ name, threshold, daysLeft, at: this.#now(), to });
    }
  }
}

function toListedName(domain: WatchedDomain): ListedName {
  return { domain, expiryDay: undefined, daysLeft: undefined, deadline: undefined };
}

const postArgsSchema = z.object({ channel: z.string(), text: z.string() });

/** The stores of one process on the shared database. After the process dies, they throw. */
export interface Replica {
  readonly reminders: ReminderStore;
  readonly notifier: NotifierDeps;
}

/** A Slack workspace that replaces the fake poster. */
export interface SlackDeps {
  readonly web: SlackWeb;
  readonly directory: SlackDirectory;
  readonly adminsToNotify: AdminsToNotify;
}

/** The result of checking the digest schedule. */
export type DigestOutcome = 'not_due' | 'nothing_to_say' | 'posted' | 'postponed';

/** The real store and outbox, a manual clock, and a poster that records. */
export class Rig {
  now = new Date('2027-06-14T12:00:00Z');
  settings: TeamSettings = applySavedSettings(defaultSettings, {});
  /** How long a digest keeps collecting names that become due; undefined: the product's default. */
  collectMs: number | undefined = 0;
  /** Whether owners are asked; otherwise they only get reminders. */
  asksOwners = false;
  readonly database: Database;
  readonly store: ReturnType<typeof createTestWatchList>;
  readonly reminders: ReminderStore;
  readonly notifications: NotificationStore;
  readonly poster = new FakePoster(() => this.now);
  readonly #drop: () => Promise<void>;

  private constructor(database: Database, drop: () => Promise<void>) {
    this.database = database;
    this.#drop = drop;
    this.store = createTestWatchList(database);
    this.reminders = createReminderStore(database, TEAM_ID);
    this.notifications = createNotificationStore(database, TEAM_ID);
  }

  static async start(): Promise<Rig> {
    const database = await createTestDatabase();
    return new Rig(openDatabase({ url: database.url }), database.drop);
  }

  /** Starts the schedule: nothing is due before the next morning. */
  static async startOnSchedule(): Promise<Rig> {
    const rig = await Rig.start();
    await rig.runDigest();
    return rig;
  }

  /** The reminders, as `name threshold`. */
  listReminders(): string[] {
    return this.poster.postedReminders.map(({ name, threshold }) => `${name} ${threshold}`);
  }

  async stop(): Promise<void> {
    await this.database.close();
    await this.#drop();
  }

  /** @param slack replaces the poster */
  createReplica(slack?: SlackDeps): Replica {
    const { poster } = this;
    const { views } = poster;
    const { directory, adminsToNotify } = slack ?? { ...poster, adminsToNotify: async () => [ADMIN_ID] };
    const now = () => this.now;
    const store = createReminderStore(this.database, TEAM_ID);
    const reminders = this.asksOwners ? store : { ...store, listUnaskedNames: async () => [] };
    let crashError: unknown;
    const web: SlackWeb = slack?.web ?? {
      call: async (method, args, answer) => {
        const { channel, text } = postArgsSchema.parse(args);
        // Answers update questions; only posts are recorded.
        if (method === 'chat.update') return answer.parse({ ok: true, channel, ts: '0.0' });
        try {
          return answer.parse(await poster.post(channel, text));
        } catch (error) {
          if (!(error instanceof SlackApiError)) crashError = error;
          throw error;
        }
      },
    };
    const notifications = new Proxy(createNotificationStore(this.database, TEAM_ID), {
      get(store, method, receiver) {
        if (crashError !== undefined) throw crashError;
        return Reflect.get(store, method, receiver);
      },
    });
    const context = slackContextWith({
      hasService: true,
      portfolio: { listOwnRegistrars: async () => [] },
      certificateDays: [14],
      nameRecords: {
        listNewlyFaultyNames: async () => [],
        listNewlyMissingRecords: async () => [],
        listExpiringCertificates: async () => [],
        listRenewedElsewhere: async () => [],
      },
      orders: {
        store: { list: async () => [], findOpenOrders: async () => new Map() },
        mandates: { filterUnhandledNames: async () => [], findMany: async () => [] },
        serviceEndpoints: { jsonUrl: 'http://127.0.0.1:1/v1', xmlUrl: undefined, replyTo: undefined },
        now,
      },
      watchList: createTestWatchList(this.database),
      reminders,
      expiry: {
        loadAskedNames: async (subject) => (await reminders.loadAskedNames(subject)).map(toListedName),
      },
      directory,
      adminsToNotify,
      loadSettings: async () => this.settings,
      now,
      pauseMs: 0,
      digestAbortSignal: new AbortController().signal,
    });
    const collectOptions = this.collectMs === undefined ? {} : { collectMs: this.collectMs };
    const digest = createDigestPlanner(context, { views, ...collectOptions });
    const owner_question = createOwnerDayPlanner(context, { question: views.renderQuestion, digest: views });
    const channel = createUnreachableChannelPlanner(context);
    return {
      reminders,
      notifier: notifierDeps({ notifications, web, now }, { channel, digest, owner_question }),
    };
  }

  /** Checks the schedule and posts due reminders, like a process. */
  async runDigest({ reminders, notifier } = this.createReplica()): Promise<DigestOutcome> {
    const { now, notifications } = notifier;
    await openDigest({ settings: async () => this.settings, reminders, now });
    const { prisma } = this.database;
    const subjectKind = { in: ['digest', 'owner_question'] };
    const countPosted = () => prisma.notification.count({ where: { subjectKind, ts: { not: null } } });
    const postedBefore = await countPosted();
    let isDue = false;
    for (;;) {
      const due = await notifications.claimDueSubjects(now(), notifier.leaseMs, 100);
      if (due.length === 0) break;
      isDue ||= due.some(({ kind }) => subjectKind.in.includes(kind));
      for (const subject of due) await notify(notifier, subject, true);
    }
    if (!isDue) return 'not_due';
    const pendingCount = await prisma.notification.count({
      where: { subjectKind, purpose: 'plan', dueAt: { not: null } },
    });
    if (pendingCount > 0) return 'postponed';
    return (await countPosted()) > postedBefore ? 'posted' : 'nothing_to_say';
  }

  /** Releases the leases of dead processes. */
  async releaseLeases(): Promise<void> {
    await this.database.prisma.notification.updateMany({ data: { leaseUntil: null } });
  }

  /** The ids of all digests, latest first. */
  async listDigestIds(): Promise<string[]> {
    const plans = await this.database.prisma.notification.findMany({
      where: { subjectKind: 'digest', purpose: 'plan' },
      orderBy: { subjectId: 'desc' },
    });
    return plans.map(({ subjectId }) => subjectId);
  }

  /** Adds a name that expires in this number of days, at noon UTC. */
  async watch(name: string, days: number, changes: Partial<WatchedDomain> = {}): Promise<WatchedDomain> {
    const noon = Date.parse(`${this.now.toISOString().slice(0, 10)}T12:00:00Z`);
    const domain: WatchedDomain = {
      ...createWatchedDomain(name, 'U0ALICE', this.now),
      expiry: { at: new Date(noon + days * DAY_MS), source: 'rdap' },
      ...changes,
    };
    await this.store.add(domain);
    return domain;
  }

  /** Alice changes a name's details. */
  async changeDetails(name: string, change: DetailsChange): Promise<void> {
    await editNames(
      createPortfolioStore(this.database, TEAM_ID),
      new Map([[name, change]]),
      'U0ALICE',
      this.now,
    );
  }

  /** Removes a name from the watch list. */
  async unwatch(name: string): Promise<void> {
    await this.database.run(removeDomain(name));
  }

  /** Sets the clock to a minute after the next nine o'clock in Berlin. */
  advanceToNextMorning(): void {
    const day = new Date(this.now.getTime() + DAY_MS).toISOString().slice(0, 10);
    this.now = new Date(getNineInBerlin(day).getTime() + MINUTE_MS);
  }
}

/** 9:00 in Berlin on a day, in standard or summer time. */
export function getNineInBerlin(day: string): Date {
  const eight = new Date(`${day}T08:00:00Z`);
  const hour = new Intl.DateTimeFormat('en-GB', {
    timeZone: 'Europe/Berlin',
    hour: '2-digit',
    hourCycle: 'h23',
  }).format(eight);
  return new Date(eight.getTime() + (9 - Number(hour)) * 3_600_000);
}

/** Slack's error for a rate limit. */
export function createRateLimitError(retryAfterMs: number): SlackApiError {
  return new SlackApiError('rate_limited', 'chat.postMessage', { retryAfterMs });
}

/** Slack's error for a refused post. */
export function createRefusedError(code: string): SlackApiError {
  return new SlackApiError('refused', 'chat.postMessage', { code });
}
