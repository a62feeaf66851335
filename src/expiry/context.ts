import type { Vault } from '../accounts/vault.ts';
import type { TeamSettings } from '../config/environment.ts';
import type { NamesContext } from '../names/context.ts';
import type { CalendarFeedOptions, CalendarName } from './calendar.ts';
import type { FeedStore, ReminderStore, WatchListStore } from './ports.ts';

export interface ExpiryContext extends NamesContext {
  readonly watchList: WatchListStore;
  readonly reminders: ReminderStore;
  readonly feeds: FeedStore;
  readonly vault: Vault;
  readonly teamId: string;
  /** The public URL of the bot's HTTP server, without a trailing slash. */
  readonly publicUrl: string;
  readonly formatEvent: CalendarFeedOptions['formatEvent'];
  /** Loads a function that returns whether a mandate will renew a name at its expiry. */
  readonly loadMandateCheck: () => Promise<(name: CalendarName) => boolean>;
  readonly settings: () => Promise<TeamSettings>;
  /** Starts the lookups of added names in the background. */
  readonly startLookups: () => void;
}
