import type { Vault } from '../accounts/vault.ts';
import type { TeamSettings } from '../config/environment.ts';
import type { NamesContext } from '../names/context.ts';
import type { CalendarFormat, CalendarName } from './calendar.ts';
import type { FeedStore, ReminderStore, WatchListStore } from './ports.ts';

/** Adds what the watch list, its reminders and its calendar need. */
export interface ExpiryContext extends NamesContext {
  readonly watchList: WatchListStore;
  readonly reminders: ReminderStore;
  readonly feeds: FeedStore;
  readonly vault: Vault;
  readonly teamId: string;
  /** Where the bot's own HTTP server is reached, without a slash at the end. */
  readonly publicUrl: string;
  /** The words of the calendar's events. */
  readonly formatEvent: CalendarFormat['formatEvent'];
  /** Tells of names and their ends whether a mandate renews them. */
  readonly mandated: () => Promise<(name: CalendarName) => boolean>;
  readonly settings: () => Promise<TeamSettings>;
  /** Looks up names that have just been added. */
  readonly lookUpAdded: () => void;
}
