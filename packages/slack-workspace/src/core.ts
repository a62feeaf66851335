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
  /** By the workspace's clock, in milliseconds since 1970. */
  calledAt: number;
  ok: boolean;
  /** Slack's error code, or the kind of the fault. */
  error?: string;
}

/** The workspace's simulated behavior. Everything is off by default. */
export interface SimulatedConditions {
  /** How long messages can be edited. Default: without limit. */
  editWindowMs?: number | undefined;
  /** Called for each response. The API call itself is carried out without delay. */
  getResponseDelayMs?: (() => number) | undefined;
}

export interface Core {
  readonly state: State;
  readonly triggers: Triggers;
  readonly faults: Faults;
  readonly rateLimits: RateLimits;
  readonly conditions: SimulatedConditions;
  readonly socket: SocketMode;
  readonly deliverer: Deliverer;
  readonly responseUrls: ResponseUrls;
  readonly calls: ApiCall[];
  readonly scheduledMessageChannels: Map<string, string>;
  readonly botToken: string;
  readonly appToken: string;
  /** The scopes of the bot token; undefined: all. */
  readonly scopes: readonly string[] | undefined;
  readonly postsPerSecond: number | undefined;
  readonly escapeEntities: boolean;
  readonly commands: readonly CommandHint[];
  readonly shortcuts: readonly ShortcutHint[];
  /** For example `http://127.0.0.1:4000`. Known once the server is listening. */
  origin: string;
}
