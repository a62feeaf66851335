import type { Deliverer } from './deliver.ts';
import type { Faults } from './faults.ts';
import type { CommandHint, JsonObject, ShortcutHint } from './protocol.ts';
import type { RateLimits } from './rate-limits.ts';
import type { ResponseUrls } from './response-urls.ts';
import type { SocketMode } from './socket.ts';
import type { State } from './state.ts';
import type { Triggers } from './triggers.ts';

/** One call of the Web API as it was received. */
export interface ApiCall {
  method: string;
  args: JsonObject;
  /** Milliseconds since 1970, the workspace's clock. */
  at: number;
  ok: boolean;
  /** Slack's error code, or the kind of a fault. */
  error?: string;
}

/** How the workspace answers. Everything is off until it is set. */
export interface Conditions {
  /** Milliseconds after which a message can't be edited any more. */
  editWindowMs?: number | undefined;
  /** Milliseconds by which an answer is late; the call itself is carried out at once. */
  answerDelayMs?: (() => number) | undefined;
}

/** The parts of a workspace, joined once in `startWorkspace`. */
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
  /** Messages that are to be posted later: their channels, by id. */
  readonly scheduled: Map<string, string>;
  readonly botToken: string;
  readonly appToken: string;
  /** Scopes the bot token was granted; undefined grants all. */
  readonly scopes: readonly string[] | undefined;
  /** Messages that a channel accepts from the app per second; undefined is no limit. */
  readonly postsPerSecond: number | undefined;
  /** Whether the command is declared with `should_escape`. */
  readonly escapeEntities: boolean;
  readonly commands: readonly CommandHint[];
  readonly shortcuts: readonly ShortcutHint[];
  /** For example `http://127.0.0.1:4000`, known once the server listens. */
  origin: string;
}
