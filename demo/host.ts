/* The responses of the demo's own routes: the clock, the sandbox's requests, webhooks, hints. */

/** `GET /local/time`, and the response to `POST /local/time` with `{ addMs }` or `{ reset: true }`. */
export interface ClockState {
  /** How far the bot and the sandbox are ahead of real time, in milliseconds. */
  readonly aheadMs: number;
}

/** One request to the sandbox of the domain service, with secrets masked. */
export interface SeenRequest {
  readonly n: number;
  /** Milliseconds since 1970, real time. */
  readonly at: number;
  readonly interface: string;
  readonly method: string;
  readonly path: string;
  readonly query: Readonly<Record<string, readonly string[]>>;
  readonly ctid: string | null;
  readonly way: string | null;
  readonly user: string | null;
  readonly context: number | null;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: unknown;
  readonly task: string | null;
  readonly name: string | null;
  readonly carriedOut: boolean;
  readonly fault: string | null;
  readonly status: number | null;
  readonly answerCode: string | null;
  readonly durationMs: number | null;
}

/** `GET /local/requests?after=N`: requests with a higher number, newest first. */
export interface RequestsAnswer {
  readonly requests: readonly SeenRequest[];
}

/** A received webhook with a verified signature. */
export interface ReceivedWebhook {
  readonly id: string;
  /** Milliseconds since 1970, real time. */
  readonly at: number;
  readonly type: string;
  /** A summary in one sentence. */
  readonly text: string;
  readonly body: unknown;
}

/** `GET /local/webhooks`, newest first. */
export interface WebhooksAnswer {
  readonly webhooks: readonly ReceivedWebhook[];
}

/** `GET /local/ceremonies`: ceremonies that were finished on the bot's pages since the demo started. */
export interface CeremoniesAnswer {
  readonly ceremonies: readonly string[];
}

/** A sandbox account to fill in to a form, by field name. Its password isn't secret. */
export interface HintAccount {
  readonly password: string;
  readonly user?: string;
  readonly context?: number;
  /** Base32. Set only for two-factor accounts. */
  readonly totpSecret?: string;
  /** Set only for trusted applications, like `application`. */
  readonly uuid?: string;
  readonly application?: string;
}

/** `GET /local/hints` */
export interface Hints {
  /** By person, for example `alice`. */
  readonly accounts: Readonly<Record<string, HintAccount>>;
  /** A name that can be transferred. */
  readonly transfer: { readonly name: string; readonly authCode: string };
  /** Ids of contacts that every account may use. */
  readonly contacts: readonly number[];
  readonly nameServers: readonly string[];
}
