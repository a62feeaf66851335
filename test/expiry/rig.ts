import { readConfig, type TeamSettings } from '../../src/config.ts';
import { newlyWatched } from '../../src/expiry/change.ts';
import { type DigestDeps, type DigestOutcome, runDigest } from '../../src/expiry/digest.ts';
import type {
  DigestHead,
  DigestMore,
  DigestPart,
  DigestPoster,
  ReminderStore,
  WatchedDomain,
  WatchListStore,
} from '../../src/expiry/ports.ts';
import { createLog } from '../../src/log.ts';
import type { DetailsChange } from '../../src/names/portfolio.ts';
import { type Database, openDatabase } from '../../src/store/database.ts';
import { createWatchListStore } from '../../src/store/domains.ts';
import { createPortfolioStore } from '../../src/store/portfolio.ts';
import { createReminderStore } from '../../src/store/reminders.ts';
import { createTestDatabase } from '../support/database.ts';

export const DAY_MS = 86_400_000;
export const MINUTE_MS = 60_000;
const CHANNEL = 'C0EXPIRY';

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

/** One thing that a digest said about a name. */
export interface Said {
  readonly name: string;
  readonly threshold: number;
  readonly daysLeft: number;
  readonly at: Date;
  /** The channel or person that was told. */
  readonly to: string;
}

/** Remembers what was posted. */
class FakePoster implements DigestPoster {
  readonly heads: DigestHead[] = [];
  readonly replies: DigestMore[] = [];
  readonly said: Said[] = [];
  readonly complaints: string[] = [];
  /** Runs before each post; what it throws is what Slack, or the end of the process, does to the post. */
  before: (to: string) => Promise<void> | void = () => undefined;
  explain: DigestPoster['explain'] = (error) => {
    throw error;
  };
  readonly #now: () => Date;

  constructor(now: () => Date) {
    this.#now = now;
  }

  async postHead(channelId: string, head: DigestHead) {
    await this.before(channelId);
    this.heads.push(head);
    this.#remember(head, channelId);
    return { channelId, ts: `${this.heads.length}.0` };
  }

  async postMore(at: { readonly channelId: string; readonly ts: string }, part: DigestMore) {
    await this.before(at.channelId);
    this.replies.push(part);
    this.#remember(part, at.channelId);
  }

  async alertAdmins(_channelId: string, why: string) {
    this.complaints.push(why);
  }

  #remember({ groups }: DigestPart, to: string): void {
    for (const { name, threshold, daysLeft } of groups.flatMap(({ reminders }) => reminders)) {
      this.said.push({ name, threshold, daysLeft, at: this.#now(), to });
    }
  }
}

/** The real store, a clock that is set by hand, and a poster that remembers. */
export class Rig {
  now = new Date('2027-06-14T12:00:00Z');
  settings: TeamSettings = team;
  readonly database: Database;
  readonly store: WatchListStore;
  readonly reminders: ReminderStore;
  readonly poster = new FakePoster(() => this.now);
  readonly #drop: () => Promise<void>;

  private constructor(database: Database, drop: () => Promise<void>) {
    this.database = database;
    this.#drop = drop;
    this.store = createWatchListStore(database);
    this.reminders = createReminderStore(database);
  }

  static async start(): Promise<Rig> {
    const database = await createTestDatabase();
    return new Rig(openDatabase({ url: database.url }), database.drop);
  }

  /** Starts where the schedule stands: nothing is due before the next morning. */
  static async startOnSchedule(): Promise<Rig> {
    const rig = await Rig.start();
    await rig.digest();
    return rig;
  }

  /** What was said, as `name threshold`. */
  said(): string[] {
    return this.poster.said.map(({ name, threshold }) => `${name} ${threshold}`);
  }

  async stop(): Promise<void> {
    await this.database.close();
    await this.#drop();
  }

  /** What each replica works with: parts of its own, one database. */
  replica(): DigestDeps {
    return {
      store: createWatchListStore(this.database),
      reminders: createReminderStore(this.database),
      poster: this.poster,
      settings: async () => this.settings,
      now: () => this.now,
      log: silent,
      pauseMs: 0,
    };
  }

  digest(replica = this.replica(), signal = new AbortController().signal): Promise<DigestOutcome> {
    return runDigest(replica, signal);
  }

  /** Puts a name on the list that expires some days from now, at noon UTC. */
  async watch(name: string, days: number, more: Partial<WatchedDomain> = {}): Promise<WatchedDomain> {
    const noon = Date.parse(`${this.now.toISOString().slice(0, 10)}T12:00:00Z`);
    const domain: WatchedDomain = {
      ...newlyWatched(name, 'U0ALICE', this.now),
      expiry: { at: new Date(noon + days * DAY_MS), source: 'rdap' },
      ...more,
    };
    await this.store.add(domain);
    return domain;
  }

  /** Sets what people set for a name. */
  async set(name: string, change: DetailsChange): Promise<void> {
    const portfolio = createPortfolioStore(this.database, 'T0TEAM');
    await portfolio.change(new Map([[name, change]]), 'U0ALICE', this.now, () => false);
  }

  /** Waits until the next nine o'clock in Berlin, and a minute more. */
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
