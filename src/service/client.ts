import { Agent } from 'undici';
import type { SendDeadline } from '../http/exchange.ts';
import { type Authenticator, createAuthenticator, type Verification } from './authenticator/authenticator.ts';
import type { AuthenticatorOptions, LoginExtras } from './authenticator/options.ts';
import type { Session } from './authenticator/shared-session.ts';
import {
  type CredentialAccount,
  DEFAULT_HEADER_PREFIX,
  getCredentialAccount,
  listSecrets,
} from './authenticator/signature.ts';
import type { SignedRequest } from './authenticator/task-signature.ts';
import { isSessionError } from './classify-response.ts';
import { InvalidInputError } from './codec/codec-errors.ts';
import { parseAddress } from './codec/json.ts';
import { ServiceError } from './errors.ts';
import { type AvailableInterfaces, chooseInterface, getCredentialInterfaces } from './interfaces.ts';
import {
  type CallResult,
  type ClientContext,
  createServiceError,
  type Deadline,
  type PreparedRequest,
  prepareDescribedRequest,
  prepareTask,
  send,
} from './request.ts';
import type { RequestIssue } from './request-issue.ts';
import type { Effect, Interface, RequestDescription, SendableTask, ServiceTask } from './task.ts';

export type { SendDeadline } from '../http/exchange.ts';
export type { Verification } from './authenticator/authenticator.ts';
export type { CallResult } from './request.ts';

export interface ServiceClientOptions extends AuthenticatorOptions {
  /** Includes the version segment. */
  readonly jsonUrl: string;
  /** If undefined, XML tasks are `unsupported`. */
  readonly xmlUrl?: string | undefined;
  /** Default: `DEFAULT_HEADER_PREFIX`. */
  readonly headerPrefix?: string | undefined;
  /** The clock for sessions, tokens and `Retry-After` dates, in milliseconds since 1970. */
  readonly now?: () => number;
}

export interface CallOptions {
  /** Client transaction id; not documented for XML. */
  readonly ctid?: string | undefined;
  /** Overrides the client's `replyTo`. */
  readonly replyTo?: string | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Overrides the client's timeout. */
  readonly timeoutMs?: number | undefined;
  /** Extra data to include in a search's records (the parameter `keys[]`). */
  readonly keys?: readonly string[] | undefined;
  /** Default: JSON if possible. */
  readonly interface?: Interface | undefined;
}

export interface DescribedCallOptions extends Omit<CallOptions, 'keys' | 'interface'> {
  readonly description: RequestDescription;
  /** The item's name, for error messages. */
  readonly itemName: string;
}

/** Calls one task under one deadline. To retry after the session has ended, sign and send again. */
export interface ServiceCall<O> {
  /** Opens a session or gets a token if needed. */
  sign(): Promise<void>;
  /**
   * Sends once.
   * @param sendDeadline checked after connecting, right before the first byte is written
   * @throws {ServiceError | SuspendedError}
   */
  send(sendDeadline?: SendDeadline): Promise<SendResult<O>>;
  /** Must always be called, because closing the client waits until all calls have ended. */
  end(): void;
}

export type SendResult<O> =
  | ({ readonly kind: 'answered' } & CallResult<O>)
  /** The request was refused because its session had ended. It can be signed and sent once more. */
  | { readonly kind: 'session_ended'; readonly refusal: ServiceError };

/** Concurrent calls share sessions. */
export interface ServiceClient {
  readonly account: CredentialAccount;
  /**
   * Carries out one task with one request, under one deadline, without following redirects. Retries once if
   * the service refused the request because the session had ended: 401, 403 or, for tasks that charge
   * nothing, an error about the session. Such a refusal proves that the task wasn't carried out.
   * @throws {ServiceError}
   */
  run<I, O>(task: ServiceTask<I, O>, input: I, options?: CallOptions): Promise<CallResult<O>>;
  /**
   * Prepares a call that sends exactly the described request.
   * @throws {ServiceError}
   */
  beginDescribedCall<O>(task: SendableTask<O>, options: DescribedCallOptions): ServiceCall<O>;
  /**
   * Checks the credential with the service: a password by login and logout, a two-factor account by opening
   * an XML session.
   */
  verify(options?: CallOptions & LoginExtras): Promise<Verification>;
  /**
   * Waits for running calls, ends the client's own sessions, and closes its connections. With `all`, also
   * ends the two-factor session shared with the caller.
   */
  close(scope?: 'own' | 'all'): Promise<void>;
}

function createUnsupportedError(task: string, issue: RequestIssue, ctid: string | undefined): ServiceError {
  return createServiceError('unsupported', { task, name: task, ctid }, issue.code, { issue });
}

interface ClientParts {
  readonly options: ServiceClientOptions;
  readonly context: ClientContext;
  readonly authenticator: Authenticator;
  readonly interfaces: AvailableInterfaces;
  readonly callCounter: CallCounter;
}

/** @throws {ServiceError} `invalid_input` if a URL can't be used */
export function createServiceClient(options: ServiceClientOptions): ServiceClient {
  const { credential } = options;
  const agent = new Agent({
    connections: 64,
    keepAliveMaxTimeout: 30_000,
    connect: { timeout: options.timeoutMs },
  });
  const context: ClientContext = {
    dispatcher: agent,
    ...parseAddresses(options),
    headerPrefix: options.headerPrefix ?? DEFAULT_HEADER_PREFIX,
    now: options.now ?? Date.now,
    secrets: listSecrets(credential),
  };
  const parts: ClientParts = {
    options,
    context,
    authenticator: createAuthenticator(context, options),
    interfaces: getCredentialInterfaces(credential.method, context.xmlAddress !== undefined),
    callCounter: new CallCounter(),
  };
  return {
    account: getCredentialAccount(credential),
    run: (task, input, callOptions = {}) => runTask(parts, task, input, callOptions),
    beginDescribedCall: (task, callOptions) => beginDescribedCall(parts, task, callOptions),
    verify: (callOptions = {}) => verify(parts, callOptions),
    async close(scope = 'own') {
      if (parts.callCounter.isClosed) return;
      await parts.callCounter.close();
      await parts.authenticator.logout(scope);
      // `agent.close` would wait for the connections of aborted calls.
      await agent.destroy();
    },
  };
}

/** Counts running calls, because a set of promises would keep large results in memory. */
class CallCounter {
  isClosed = false;
  #runningCount = 0;
  #onIdle = (): void => undefined;

  throwIfClosed(task: string): void {
    if (this.isClosed) throw createServiceError('not_sent', { task, name: task }, 'this client is closed');
  }

  /** @returns a function that ends the call; calling it again has no effect */
  begin(): () => void {
    let hasEnded = false;
    this.#runningCount += 1;
    return () => {
      if (hasEnded) return;
      hasEnded = true;
      this.#runningCount -= 1;
      if (this.#runningCount === 0) this.#onIdle();
    };
  }

  /** Refuses new calls, and waits for running ones. */
  close(): Promise<void> {
    this.isClosed = true;
    return new Promise((resolve) => {
      this.#onIdle = resolve;
      if (this.#runningCount === 0) resolve();
    });
  }
}

async function runTask<I, O>(
  parts: ClientParts,
  task: ServiceTask<I, O>,
  input: I,
  callOptions: CallOptions,
): Promise<CallResult<O>> {
  const call = beginTask(parts, task, input, callOptions);
  try {
    await call.sign();
    const firstResult = await call.send();
    if (firstResult.kind === 'answered') return firstResult;
    await call.sign();
    const secondResult = await call.send();
    if (secondResult.kind === 'answered') return secondResult;
    throw secondResult.refusal;
  } finally {
    call.end();
  }
}

function beginTask<I, O>(
  parts: ClientParts,
  task: ServiceTask<I, O>,
  input: I,
  callOptions: CallOptions,
): ServiceCall<O> {
  parts.callCounter.throwIfClosed(task.name);
  const { ctid, keys, replyTo = parts.options.replyTo } = callOptions;
  const choice = chooseInterface(task, parts.interfaces, callOptions.interface);
  if ('unsupported' in choice) throw createUnsupportedError(task.name, choice.unsupported, ctid);
  const generalQuery = { replyTo, ctid, keys };
  return createCall(
    parts,
    prepareTask(parts.context, task, input, { via: choice.interface, generalQuery }),
    callOptions,
  );
}

function beginDescribedCall<O>(
  parts: ClientParts,
  task: SendableTask<O>,
  { description, itemName, ...callOptions }: DescribedCallOptions,
): ServiceCall<O> {
  parts.callCounter.throwIfClosed(task.name);
  const { ctid, replyTo } = callOptions;
  if (!parts.interfaces[description.interface])
    throw createUnsupportedError(task.name, { code: 'other_interface_needed' }, ctid);
  const activity = { task: task.name, name: `${task.name} ${itemName}`, ctid };
  const prepared = prepareDescribedRequest(parts.context, {
    task,
    activity,
    description,
    generalQuery: { replyTo, ctid },
  });
  return createCall(parts, prepared, callOptions);
}

function createCall<O>(
  { context, authenticator, callCounter, options }: ClientParts,
  prepared: PreparedRequest<O>,
  callOptions: CallOptions,
): ServiceCall<O> {
  const deadline = createDeadline(options, callOptions);
  let signed: SignedRequest | undefined;
  let endedSession: Session | undefined;
  return {
    async sign() {
      if (endedSession !== undefined) authenticator.invalidateSession(endedSession);
      signed = await authenticator.sign(prepared, deadline);
    },
    async send(sendDeadline) {
      if (signed === undefined) throw new Error('each request must be signed before it is sent');
      const { session } = signed;
      const result = send(context, prepared, signed, { deadline, sendDeadline });
      signed = undefined;
      try {
        return { kind: 'answered', ...(await result) };
      } catch (error) {
        if (session === undefined || !isSafeToRetryInNewSession(prepared.task.effect, error)) throw error;
        endedSession = session;
        return { kind: 'session_ended', refusal: error };
      }
    },
    end: callCounter.begin(),
  };
}

function createDeadline(options: ServiceClientOptions, { timeoutMs, signal }: CallOptions): Deadline {
  return { endsAt: performance.now() + (timeoutMs ?? options.timeoutMs), signal };
}

async function verify(
  { options, context, authenticator, callCounter }: ClientParts,
  callOptions: CallOptions & LoginExtras,
): Promise<Verification> {
  callCounter.throwIfClosed('verify');
  if (options.credential.method === 'two_factor' && context.xmlAddress === undefined) {
    throw createServiceError(
      'unsupported',
      { task: 'verify', name: 'checking the account' },
      'two-factor accounts need the XML interface, and SERVICE_XML_URL is not set',
      { issue: { code: 'two_factor_needs_xml' } },
    );
  }
  return authenticator.verify(createDeadline(options, callOptions), callOptions);
}

/**
 * Whether a refusal may mean that the session has ended, and also proves that the task wasn't carried out.
 * For a task that charges, only 401 and 403 prove it.
 */
function isSafeToRetryInNewSession(effect: Effect, error: unknown): error is ServiceError {
  if (!(error instanceof ServiceError)) return false;
  if (error.kind === 'auth') return true;
  if (effect === 'charge' || error.kind !== 'refused' || error.envelope === undefined) return false;
  return isSessionError(error.envelope);
}

function parseAddresses({ jsonUrl, xmlUrl }: ServiceClientOptions) {
  try {
    return {
      jsonAddress: parseAddress('the JSON address', jsonUrl),
      xmlAddress: xmlUrl === undefined ? undefined : parseAddress('the XML address', xmlUrl),
    };
  } catch (error) {
    if (!(error instanceof InvalidInputError)) throw error;
    throw createServiceError(
      'invalid_input',
      { task: 'connect', name: 'reading the settings' },
      error.message,
    );
  }
}
