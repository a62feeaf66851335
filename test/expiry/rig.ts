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
import { createChannelPlanner } from '../../src/slack/admins/admins.ts';
import type { AdminsToNotify } from '../../src/slack/context.ts';
import { createDigestPlanner } from '../../src/slack/expiry/digest-notifications.ts';
import { createOwnerDayPlanner, type OwnerPart } from '../../src/slack/expiry/owner-day.ts';
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
import { arrangedList, edit } from '../support/unprotected.ts';

export const DAY_MS = 86_400_000;
export const MINUTE_MS = 60_000;
const CHANNEL = 'C0EXPIRY';
const TEAM = 'T0TEAM';

export const silent = createLog('silent');

const { team } = readConfig({
  SLACK_BOT_TOKEN: 'xoxb-test',
  SLACK_SIGNING_SECRET: 'a-signing-secret',
  SERVICE_JSON_URL: 'http://127.0.0.1:1/v1',
  CREDENTIALS_KEYS: `test:${Buffer.alloc(32).toString('base64')}`,
  APPROVERS: 'U0BOB',
  REMINDER_CHANNEL: CHANNEL,
  REMINDER_TIMEZONE: 'Europe/Berlin',
});

/** The content of a message. */
type Rendered =
  | { readonly head: DigestHead }
  | { readonly reply: DigestReply }
  | { readonly months: readonly MonthCount[] }
  | { readonly question: OwnerPart };

/** A digest's reminder of a name. */
export interface Said {
  readonly name: string;
  readonly threshold: number;
  readonly daysLeft: number;
  readonly at: Date;
  /** The channel or person of the message. */
  readonly to: string;
}

/** The admin who is notified if posting to a channel fails. */
const ADMIN = 'U0ADMIN';

/** Replaces Slack and records posts. */
class FakePoster {
  readonly heads: DigestHead[] = [];
  readonly charts: { readonly at: Date; readonly months: readonly MonthCount[] }[] = [];
  readonly replies: DigestReply[] = [];
  readonly questions: OwnerPart[] = [];
  readonly said: Said[] = [];
  readonly complaints: string[] = [];
  /** Runs before each post. A {@link SlackApiError} is Slack's response; any other error kills the process. */
  before: (to: string) => Promise<void> | void = () => undefined;
  /** People who have left. */
  readonly left = new Set<string>();
  /** The content of messages, by their text. */
  readonly #rendered = new Map<string, Rendered>();
  #posts = 0;
  readonly #now: () => Date;

  constructor(now: () => Date) {
    this.#now = now;
  }

  readonly views = {
    head: async (head: DigestHead) => this.#render({ head }),
    reply: async (reply: DigestReply) => this.#render({ reply }),
    months: async (months: readonly MonthCount[]) => this.#render({ months }),
    question: async (question: OwnerPart) => this.#render({ question }),
  };

  readonly directory = {
    openDirectMessage: async (userId: string) => userId,
    findMembership: async (userId: string) =>
      this.left.has(userId) ? ('left' as const) : ('member' as const),
  };

  async post(channel: string, text: string): Promise<{ readonly channel: string; readonly ts: string }> {
    this.#posts += 1;
    const posted = { ok: true, channel, ts: `${this.#posts}.0` };
    if (channel === ADMIN) {
      this.complaints.push(text);
      return posted;
    }
    await this.before(channel);
    const rendered = this.#rendered.get(text);
    if (rendered === undefined) throw new Error(`no message has the text ${text}`);
    if ('months' in rendered) {
      this.charts.push({ at: this.#now(), months: rendered.months });
      return posted;
    }
    if ('question' in rendered) {
      const { questions, reminders } = rendered.question;
      this.questions.push(rendered.question);
      for (const { domain } of questions)
        this.said.push({ name: domain.name, threshold: 0, daysLeft: 0, at: this.#now(), to: channel });
      this.#record({ reminders }, channel);
      return posted;
    }
    if ('head' in rendered) this.heads.push(rendered.head);
    else this.replies.push(rendered.reply);
    this.#record('head' in rendered ? rendered.head : rendered.reply, channel);
    return posted;
  }

  #render(what: Rendered): Message {
    const text = `message ${this.#rendered.size}`;
    this.#rendered.set(text, what);
    return textMessage(text);
  }

  #record({ reminders }: Pick<DigestPart, 'reminders'>, to: string): void {
    for (const { name, threshold, daysLeft } of reminders) {
      this.said.push({ name, threshold, daysLeft, at: this.#now(), to });
    }
  }
}

function listedOf(domain: WatchedDomain): ListedName {
  return { domain, day: undefined, daysLeft: undefined, deadline: undefined };
}

const posting = z.object({ channel: z.string(), text: z.string() });

/** The stores of one process on the shared database. After the process dies, they throw. */
export interface Replica {
  readonly reminders: ReminderStore;
  readonly notifier: NotifierDeps;
}

/** A workspace instead of the poster. */
export interface Slack {
  readonly web: SlackWeb;
  readonly directory: SlackDirectory;
  readonly adminsToNotify: AdminsToNotify;
}

/** The result of a check of the schedule. */
export type DigestOutcome = 'not_due' | 'nothing_to_say' | 'posted' | 'postponed';

/** The real store and outbox, a manual clock, and a poster that records. */
export class Rig {
  now = new Date('2027-06-14T12:00:00Z');
  settings: TeamSettings = applySavedSettings(team, {});
  /** How long a digest collects names that become due after it; undefined: as in the product. */
  collectMs: number | undefined = 0;
  /** Whether owners are asked; otherwise they only get reminders. */
  asksOwners = false;
  readonly database: Database;
  readonly store: ReturnType<typeof arrangedList>;
  readonly reminders: ReminderStore;
  readonly notifications: NotificationStore;
  readonly poster = new FakePoster(() => this.now);
  readonly #drop: () => Promise<void>;

  private constructor(database: Database, drop: () => Promise<void>) {
    this.database = database;
    this.#drop = drop;
    this.store = arrangedList(database);
    this.reminders = createReminderStore(database, TEAM);
    this.notifications = createNotificationStore(database, TEAM);
  }

  static async start(): Promise<Rig> {
    const database = await createTestDatabase();
    return new Rig(openDatabase({ url: database.url }), database.drop);
  }

  /** Starts the schedule: nothing is due before the next morning. */
  static async startOnSchedule(): Promise<Rig> {
    const rig = await Rig.start();
    await rig.digest();
    return rig;
  }

  /** The reminders, as `name threshold`. */
  listReminders(): string[] {
    return this.poster.said.map(({ name, threshold }) => `${name} ${threshold}`);
  }

  async stop(): Promise<void> {
    await this.database.close();
    await this.#drop();
  }

  /** @param slack replaces the poster */
  replica(slack?: Slack): Replica {
    const { poster } = this;
    const { views } = poster;
    const { directory, adminsToNotify } = slack ?? { ...poster, adminsToNotify: async () => [ADMIN] };
    const now = () => this.now;
    const store = createReminderStore(this.database, TEAM);
    const reminders = this.asksOwners ? store : { ...store, listUnasked: async () => [] };
    let death: unknown;
    const web: SlackWeb = slack?.web ?? {
      call: async (method, args, answer) => {
        const { channel, text } = posting.parse(args);
        // Answers update questions; only posts are recorded.
        if (method === 'chat.update') return answer.parse({ ok: true, channel, ts: '0.0' });
        try {
          return answer.parse(await poster.post(channel, text));
        } catch (error) {
          if (!(error instanceof SlackApiError)) death = error;
          throw error;
        }
      },
    };
    const notifications = new Proxy(createNotificationStore(this.database, TEAM), {
      get(store, method, receiver) {
        if (death !== undefined) throw death;
        return Reflect.get(store, method, receiver);
      },
    });
    const context = slackContextWith({
      hasService: true,
      portfolio: { listOwnRegistrars: async () => [] },
      certificateDays: [14],
      nameRecords: {
        listNewFaults: async () => [],
        listNewlyUnrecorded: async () => [],
        listExpiringCertificates: async () => [],
        listRenewedElsewhere: async () => [],
      },
      orders: {
        store: { list: async () => [], findOpenOrders: async () => new Map() },
        mandates: { filterUpcoming: async () => [], findMany: async () => [] },
        serviceEndpoints: { jsonUrl: 'http://127.0.0.1:1/v1', xmlUrl: undefined, replyTo: undefined },
        now,
      },
      watchList: arrangedList(this.database),
      reminders,
      expiry: { loadQuestions: async (subject) => (await reminders.loadQuestions(subject)).map(listedOf) },
      directory,
      adminsToNotify,
      savedSettings: async () => this.settings,
      now,
      pauseMs: 0,
      digestAbortSignal: new AbortController().signal,
    });
    const collecting = this.collectMs === undefined ? {} : { collectMs: this.collectMs };
    const digest = createDigestPlanner(context, { views, ...collecting });
    const owner_question = createOwnerDayPlanner(context, { question: views.question, digest: views });
    const channel = createChannelPlanner(context);
    return {
      reminders,
      notifier: notifierDeps({ notifications, web, now }, { channel, digest, owner_question }),
    };
  }

  /** Checks the schedule and posts due reminders, like a process. */
  async digest({ reminders, notifier } = this.replica()): Promise<DigestOutcome> {
    const { now, notifications } = notifier;
    await openDigest({ settings: async () => this.settings, reminders, now });
    const { prisma } = this.database;
    const subjectKind = { in: ['digest', 'owner_question'] };
    const said = () => prisma.notification.count({ where: { subjectKind, ts: { not: null } } });
    const before = await said();
    let isDue = false;
    for (;;) {
      const due = await notifications.claimDue(now(), notifier.leaseMs, 100);
      if (due.length === 0) break;
      isDue ||= due.some(({ kind }) => subjectKind.in.includes(kind));
      for (const subject of due) await notify(notifier, subject, true);
    }
    if (!isDue) return 'not_due';
    const waiting = await prisma.notification.count({
      where: { subjectKind, purpose: 'plan', dueAt: { not: null } },
    });
    if (waiting > 0) return 'postponed';
    return (await said()) > before ? 'posted' : 'nothing_to_say';
  }

  /** Releases the leases of dead processes. */
  async endLeases(): Promise<void> {
    await this.database.prisma.notification.updateMany({ data: { leaseUntil: null } });
  }

  /** The known digests, latest first. */
  async digests(): Promise<string[]> {
    const plans = await this.database.prisma.notification.findMany({
      where: { subjectKind: 'digest', purpose: 'plan' },
      orderBy: { subjectId: 'desc' },
    });
    return plans.map(({ subjectId }) => subjectId);
  }

  /** Adds a name that expires in this number of days, at noon UTC. */
  async watch(name: string, days: number, more: Partial<WatchedDomain> = {}): Promise<WatchedDomain> {
    const noon = Date.parse(`${this.now.toISOString().slice(0, 10)}T12:00:00Z`);
    const domain: WatchedDomain = {
      ...createWatchedDomain(name, 'U0ALICE', this.now),
      expiry: { at: new Date(noon + days * DAY_MS), source: 'rdap' },
      ...more,
    };
    await this.store.add(domain);
    return domain;
  }

  /** Changes a name's settings. */
  async set(name: string, change: DetailsChange): Promise<void> {
    await edit(createPortfolioStore(this.database, TEAM), new Map([[name, change]]), 'U0ALICE', this.now);
  }

  /** Takes a name off the list. */
  async unwatch(name: string): Promise<void> {
    await this.database.run(removeDomain(name));
  }

  /** Sets the clock to a minute after the next nine o'clock in Berlin. */
  nextMorning(): void {
    const day = new Date(this.now.getTime() + DAY_MS).toISOString().slice(0, 10);
    this.now = new Date(nineInBerlin(day).getTime() + MINUTE_MS);
  }
}

/** Nine in the morning in Berlin on a day, in winter and in summer. */
export function nineInBerlin(day: string): Date {
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
export function refused(code: string): SlackApiError {
  return new SlackApiError('refused', 'chat.postMessage', { code });
}
