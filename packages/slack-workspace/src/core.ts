import type { Deliverer } from './deliver.ts';
import type { Faults } from './faults.ts';
import type { CommandHint, JsonObject, ShortcutHint } from './protocol.ts';
import type { RateLimits } from './rate-limits.ts';
import type { ResponseUrls } from './response-urls.ts';
import type { SocketMode } from './socket.ts';
import type { State } from './state.ts';
import type { Triggers } from './triggers.ts';

export interface ApiCall {
  method: string;
  args: JsonObject;
  /** Milliseconds since 1970, the workspace's clock. */
  at: number;
  ok: boolean;
  /** Slack's error code, or the kind of a fault. */
  error?: string;
}

/** The workspace's simulated behavior. Everything is off by default. */
export interface Conditions {
  /** Messages can be edited for this many milliseconds. */
  editWindowMs?: number | undefined;
  /** Delays responses by this many milliseconds; the call itself is carried out immediately. */
  answerDelayMs?: (() => number) | undefined;
}

/** The parts of a workspace, created in `startWorkspace`. */
export interface Core {
  readonly state: State;
  readonly triggers: Triggers;
  readonly faults: Faults;
  readonly rateLimits: RateLimits;
  readonly conditions: Conditions;
  readonly socket: SocketMode;
  readonly deliverer: Deliverer;
  readonly responseUrls: ResponseUrls;
  readonly calls: ApiCall[];
  /** Channels of scheduled messages, by message id. */
  readonly scheduled: Map<string, string>;
  readonly botToken: string;
  readonly appToken: string;
  /** Scopes the bot token was granted; undefined grants all. */
  readonly scopes: readonly string[] | undefined;
  /** Messages that a channel accepts from the app per second; undefined for no limit. */
  readonly postsPerSecond: number | undefined;
  /** Whether the command is declared with `should_escape`. */
  readonly escapeEntities: boolean;
  readonly commands: readonly CommandHint[];
  readonly shortcuts: readonly ShortcutHint[];
  /** For example `http://127.0.0.1:4000`, known once the server listens. */
  origin: string;
}
