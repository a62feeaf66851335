import { Agent } from 'undici';
import { createAuthenticator, type Verification } from './authenticator/authenticator.ts';
import type { AuthenticatorOptions, LoginExtras } from './authenticator/options.ts';
import {
  accountOf,
  type CredentialAccount,
  credentialSecrets,
  DEFAULT_HEADER_PREFIX,
} from './authenticator/signature.ts';
import { isSessionError } from './classify-response.ts';
import { InvalidInputError } from './codec/codec-errors.ts';
import { readAddress } from './codec/json.ts';
import { ServiceError } from './errors.ts';
import { chooseInterface, credentialInterfaces } from './interfaces.ts';
import {
  type BeforeFirstByte,
  type CallResult,
  type ClientContext,
  type Deadline,
  type PreparedRequest,
  prepare,
  prepareTask,
  send,
  serviceError,
} from './request.ts';
import type { RequestIssue } from './request-issue.ts';
import type { AnsweredTask, Effect, Interface, RequestDescription, ServiceTask } from './task.ts';

export type { Verification } from './authenticator/authenticator.ts';
export type { CallResult } from './request.ts';

export interface ServiceClientOptions extends AuthenticatorOptions {
  /** `{base_url}` of the JSON interface with its version segment. */
  readonly jsonUrl: string;
  /** Address that XML requests are posted to; without it XML tasks are `unsupported`. */
  readonly xmlUrl?: string | undefined;
  /** The first part of the names of the service’s own headers; as its document has them when left out. */
  readonly headerPrefix?: string | undefined;
  /** Clock for sessions, tokens and `Retry-After` dates, in milliseconds since 1970. */
  readonly now?: () => number;
}

export interface CallOptions {
  /** Client transaction id; JSON only, the document shows no place for it in XML. */
  readonly ctid?: string | undefined;
  /** Overrides the client's `replyTo`. */
  readonly replyTo?: string | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Overrides the client's deadline, in milliseconds. */
  readonly timeoutMs?: number | undefined;
  /** `keys[]`: further data for the records of a search. */
  readonly keys?: readonly string[] | undefined;
  /** Which interface is to carry the task; JSON when left out and possible. */
  readonly interface?: Interface | undefined;
  /**
   * Awaited after encoding, session login and token, before each request of the task itself is sent. If it throws,
   * nothing is sent and its error propagates unchanged.
   * @param refusal of the second request: how the first one was refused, whose session had ended
   */
  readonly beforeSend?: ((refusal?: ServiceError) => Promise<void>) | undefined;
  /**
   * Called right before the first byte of the task's request is written, after connecting and the TLS handshake. If it
   * throws, nothing is sent and its error propagates unchanged.
   */
  readonly beforeFirstByte?: BeforeFirstByte | undefined;
}

/** A call whose request is described already. Its `replyTo` is the call's alone. */
export interface DescribedCall extends Omit<CallOptions, 'keys' | 'interface'> {
  readonly description: RequestDescription;
  /** What it is about, for the messages of errors: a name. */
  readonly about: string;
}

/** The client of one credential. It is immutable, and its concurrent calls share its sessions. */
export interface ServiceClient {
  /** Whose requests they are, as the credential says. */
  readonly account: CredentialAccount;
  /**
   * Carries out one task: one request, no retry, no redirect, one deadline.
   *
   * A request that was refused because its session had ended (401, 403; for tasks that charge nothing also an error
   * that speaks of the session) goes out once more with a new session: a refusal proves that it was not carried out.
   * @throws ServiceError, or whatever `beforeSend` and `beforeFirstByte` throw.
   */
  run<I, O>(task: ServiceTask<I, O>, input: I, call?: CallOptions): Promise<CallResult<O>>;
  /**
   * Sends a described request exactly as it is described, and reads the answer as the task declares; otherwise as {@link run}.
   * @throws ServiceError, or whatever `beforeSend` and `beforeFirstByte` throw.
   */
  send<O>(task: AnsweredTask<O>, call: DescribedCall): Promise<CallResult<O>>;
  /** Checks the credential at the service: a password by login and logout, two-factor by an XML session. */
  verify(call?: Pick<CallOptions, 'signal' | 'timeoutMs'> & LoginExtras): Promise<Verification>;
  /**
   * Waits for the calls under way, then ends the sessions that the client opened, and its connections. A two-factor
   * session that was handed in or out outlives the client, unless `all` is asked for (on unlinking).
   */
  close(sessions?: 'own' | 'all'): Promise<void>;
}

function unsupported(task: string, issue: RequestIssue, ctid: string | undefined): ServiceError {
  return serviceError('unsupported', { task, name: task, ctid }, issue.code, { issue });
}

/** @throws ServiceError `invalid_input` when an address cannot be used. */
export function createServiceClient(options: ServiceClientOptions): ServiceClient {
  const { credential } = options;
  const agent = new Agent({
    connections: 64,
    keepAliveMaxTimeout: 30_000,
    connect: { timeout: options.timeoutMs },
  });
  const clientContext: ClientContext = {
    dispatcher: agent,
    ...readAddresses(options),
    headerPrefix: options.headerPrefix ?? DEFAULT_HEADER_PREFIX,
    now: options.now ?? Date.now,
    secrets: credentialSecrets(credential),
  };
  const authenticator = createAuthenticator(clientContext, options);
  // The calls are only counted: a set of their promises would keep large results in memory after the calls are over.
  let underWay = 0;
  let onIdle = (): void => undefined;
  let closed = false;

  function deadlineOf({ timeoutMs, signal }: Pick<CallOptions, 'signal' | 'timeoutMs'>): Deadline {
    return { endsAt: performance.now() + (timeoutMs ?? options.timeoutMs), signal };
  }

  function refuseClosed(task: string): void {
    if (closed) throw serviceError('not_sent', { task, name: task }, 'this client is closed');
  }

  const interfaces = credentialInterfaces(credential.method, clientContext.xmlAddress !== undefined);

  async function runTask<I, O>(task: ServiceTask<I, O>, input: I, call: CallOptions): Promise<CallResult<O>> {
    refuseClosed(task.name);
    const { ctid, keys, replyTo = options.replyTo } = call;
    const support = chooseInterface(task, interfaces, call.interface);
    if ('unsupported' in support) throw unsupported(task.name, support.unsupported, ctid);
    const general = { replyTo, ctid, keys };
    return carryOut(prepareTask(clientContext, task, input, { via: support.interface, general }), call);
  }

  async function sendDescribed<O>(
    task: AnsweredTask<O>,
    { description, about, ...call }: DescribedCall,
  ): Promise<CallResult<O>> {
    refuseClosed(task.name);
    const { ctid, replyTo } = call;
    if (!interfaces[description.interface])
      throw unsupported(task.name, { code: 'other_interface_needed' }, ctid);
    const activity = { task: task.name, name: `${task.name} ${about}`, ctid };
    return carryOut(
      prepare(clientContext, { task, activity, description, general: { replyTo, ctid } }),
      call,
    );
  }

  async function carryOut<O>(
    prepared: PreparedRequest<O>,
    call: CallOptions | DescribedCall,
  ): Promise<CallResult<O>> {
    const deadline = deadlineOf(call);
    const sendOptions = { deadline, beforeFirstByte: call.beforeFirstByte };
    const first = await authenticator.sign(prepared, deadline);
    await call.beforeSend?.();
    let refusal: ServiceError;
    try {
      return await send(clientContext, prepared, first, sendOptions);
    } catch (error) {
      if (first.session === undefined || !mayHaveEnded(prepared.task.effect, error)) throw error;
      authenticator.invalidateSession(first.session);
      refusal = error;
    }
    const second = await authenticator.sign(prepared, deadline);
    await call.beforeSend?.(refusal);
    return send(clientContext, prepared, second, sendOptions);
  }

  async function counted<T>(call: () => Promise<T>): Promise<T> {
    underWay += 1;
    try {
      return await call();
    } finally {
      underWay -= 1;
      if (underWay === 0) onIdle();
    }
  }

  return {
    account: accountOf(credential),

    run: (task, input, call = {}) => counted(() => runTask(task, input, call)),

    send: (task, call) => counted(() => sendDescribed(task, call)),

    async verify(call = {}) {
      refuseClosed('verify');
      if (credential.method === 'two_factor' && clientContext.xmlAddress === undefined) {
        const activity = { task: 'verify', name: 'checking the account' };
        throw serviceError(
          'unsupported',
          activity,
          'two-factor accounts need the XML interface, and SERVICE_XML_URL is not set',
          { issue: { code: 'two_factor_needs_xml' } },
        );
      }
      return authenticator.verify(deadlineOf(call), call);
    },

    async close(sessions = 'own') {
      if (closed) return;
      closed = true;
      await new Promise<void>((resolve) => {
        onIdle = resolve;
        if (underWay === 0) resolve();
      });
      await authenticator.logout(sessions);
      // `close` would wait for connections that calls have given up already.
      await agent.destroy();
    },
  };
}

/**
 * Whether a refusal may mean that the session has ended, and sending the task once more is safe. It is safe when the
 * answer proves that the task was not carried out; for a task that charges, only 401 and 403 prove that.
 */
function mayHaveEnded(effect: Effect, error: unknown): error is ServiceError {
  if (!(error instanceof ServiceError)) return false;
  if (error.kind === 'auth') return true;
  if (effect === 'charge' || error.kind !== 'refused' || error.envelope === undefined) return false;
  return isSessionError(error.envelope);
}

function readAddresses({
  jsonUrl,
  xmlUrl,
}: ServiceClientOptions): Pick<ClientContext, 'jsonAddress' | 'xmlAddress'> {
  try {
    return {
      jsonAddress: readAddress('the JSON address', jsonUrl),
      xmlAddress: xmlUrl === undefined ? undefined : readAddress('the XML address', xmlUrl),
    };
  } catch (error) {
    if (!(error instanceof InvalidInputError)) throw error;
    throw serviceError('invalid_input', { task: 'connect', name: 'reading the settings' }, error.message);
  }
}
