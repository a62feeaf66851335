import { isUtf8 } from 'node:buffer';
import type { Dispatcher } from 'undici';
import {
  type ExchangeLimits,
  exchange,
  exchangeOnFreshConnection,
  HttpExchangeError,
  type HttpRequest,
  type HttpResponse,
  type SendDeadline,
  TooLateError,
} from '../http/exchange.ts';
import { parseRetryAfter } from '../http/retry-after.ts';
import {
  buildSignatureElement,
  type Credential,
  formatSignatureHeaders,
  type JsonSignature,
  type XmlSignature,
} from './authenticator/signature.ts';
import { classifyResponse } from './classify-response.ts';
import { InvalidInputError, InvalidResponseError } from './codec/codec-errors.ts';
import {
  type DecodedResponse,
  decodeJson,
  encodeJson,
  type GeneralQuery,
  type ServiceAddress,
} from './codec/json.ts';
import { decodeReferences, decodeXml, encodeElements, encodeXmlRequest } from './codec/xml.ts';
import type { Envelope } from './envelope.ts';
import {
  ServiceError,
  type ServiceErrorDetails,
  type ServiceErrorKind,
  SuspendedError,
  type UnreadableResponse,
} from './errors.ts';
import { isRecord } from './record.ts';
import { createMask, MAX_RESPONSE_BYTES, type Mask, maskEnvelope } from './redact.ts';
import { describeRequest } from './request-description.ts';
import { MASK, Secret } from './secret.ts';
import type { Interface, RequestDescription, SendableTask, ServiceTask, TaskResult } from './task.ts';

export interface ClientContext {
  readonly dispatcher: Dispatcher;
  readonly jsonAddress: ServiceAddress;
  readonly xmlAddress: ServiceAddress | undefined;
  /** Prefix of the service's own header names. */
  readonly headerPrefix: string;
  readonly now: () => number;
  /** Masked in every response. */
  readonly secrets: readonly string[];
}

export interface Deadline {
  /** A `performance.now()` timestamp. */
  readonly endsAt: number;
  readonly signal?: AbortSignal | undefined;
}

interface SendOptions {
  readonly deadline: Deadline;
  readonly sendDeadline?: SendDeadline | undefined;
}

export interface CallResult<O> {
  readonly output: O;
  /** With secrets masked. */
  readonly envelope: Envelope;
  readonly interface: Interface;
  readonly httpStatus: number;
}

export interface Activity {
  readonly task: string;
  /** For example `renewing cafe.rest`. */
  readonly name: string;
  readonly ctid?: string | undefined;
}

interface DescribedRequest<O> {
  readonly task: SendableTask<O>;
  readonly activity: Activity;
  readonly description: RequestDescription;
  readonly taskSignature?: TaskSignature | undefined;
}

export interface TaskSignature {
  readonly json: () => JsonSignature | undefined;
  readonly xml: (credential: Credential) => XmlSignature | undefined;
}

export interface PreparedRequest<O> extends DescribedRequest<O> {
  readonly unsignedRequest: UnsignedRequest;
}

type UnsignedRequest =
  | { readonly via: 'json'; sign(signature: JsonSignature): HttpRequest }
  | { readonly via: 'xml'; sign(signature: XmlSignature): HttpRequest };

export interface SignedHttpRequest {
  readonly request: HttpRequest;
  readonly signature: JsonSignature | XmlSignature;
}

export function createServiceError(
  kind: ServiceErrorKind,
  activity: Activity,
  problem: string,
  details: Partial<ServiceErrorDetails> = {},
): ServiceError {
  const { task, name, ctid } = activity;
  return new ServiceError(kind, `${name}: ${problem}`, { ctid, ...details, task });
}

/** Converts {@link InvalidInputError} to a `ServiceError` of kind `invalid_input`. */
export function encodeOrThrow<T>(activity: Activity, encode: () => T): T {
  try {
    return encode();
  } catch (error) {
    if (!(error instanceof InvalidInputError)) throw error;
    throw createServiceError('invalid_input', activity, error.message, { issue: error.issue });
  }
}

/** Validates, describes and encodes the input. @throws {ServiceError} `invalid_input` */
export function prepareTask<I, O>(
  context: ClientContext,
  task: ServiceTask<I, O>,
  input: I,
  { via, generalQuery = {} }: { readonly via: Interface; readonly generalQuery?: GeneralQuery | undefined },
): PreparedRequest<O> {
  const { ctid, keys } = generalQuery;
  const description = encodeOrThrow({ task: task.name, name: task.name, ctid }, () =>
    describeRequest(task, input, via, keys),
  );
  return prepareDescribedRequest(context, {
    task,
    activity: { task: task.name, name: task.describeActivity(input), ctid },
    description,
    generalQuery,
    taskSignature: {
      json: () => task.json?.signature?.(input),
      xml: (credential) => task.xml?.signature?.(input, credential),
    },
  });
}

export function prepareDescribedRequest<O>(
  context: ClientContext,
  { generalQuery = {}, ...described }: DescribedRequest<O> & { readonly generalQuery?: GeneralQuery },
): PreparedRequest<O> {
  const { description, activity } = described;
  const unsignedRequest = encodeOrThrow(activity, () =>
    description.interface === 'json'
      ? prepareJsonRequest(context, description, generalQuery)
      : prepareXmlRequest(context, description),
  );
  return { ...described, unsignedRequest };
}

type DescriptionFor<Type extends Interface> = Extract<RequestDescription, { interface: Type }>;

function prepareJsonRequest(
  context: ClientContext,
  description: DescriptionFor<'json'>,
  generalQuery: GeneralQuery,
): UnsignedRequest {
  const request = encodeJson(description, context.jsonAddress, generalQuery);
  const sign = (signature: JsonSignature): HttpRequest => ({
    ...request,
    headers: [...request.headers, ...formatSignatureHeaders(signature, context.headerPrefix)],
  });
  return { via: 'json', sign };
}

function prepareXmlRequest(
  { xmlAddress: address }: ClientContext,
  { code, element }: DescriptionFor<'xml'>,
): UnsignedRequest {
  if (address === undefined) throw new InvalidInputError('the address of the XML interface isn’t set');
  const elements = encodeElements(element);
  const sign = (signature: XmlSignature): HttpRequest => ({
    origin: address.origin,
    path: `${address.path}${address.query}`,
    method: 'POST',
    headers: ['accept', 'application/xml, text/xml', 'content-type', 'application/xml; charset=utf-8'],
    body: encodeXmlRequest(encodeElements(buildSignatureElement(signature)), code, elements),
  });
  return { via: 'xml', sign };
}

/** Sends a request and parses the response. @throws {ServiceError | SuspendedError} */
export async function send<O>(
  context: ClientContext,
  prepared: PreparedRequest<O>,
  { request, signature }: SignedHttpRequest,
  options: SendOptions,
): Promise<CallResult<O>> {
  const response = await sendAndReceive(context, prepared, request, options);
  return parseResponse(context, prepared, signature, response);
}

/** @throws {ServiceError} unless the response proves that the task was carried out */
function parseResponse<O>(
  context: ClientContext,
  { task, activity, description, unsignedRequest: { via } }: PreparedRequest<O>,
  signature: SignedHttpRequest['signature'],
  response: HttpResponse,
): CallResult<O> {
  const { status, headers } = response;
  const { decoded, unreadableReason } = decodeResponse(via, response);
  const sentSecrets = [...new Set([...context.secrets, ...findSecrets([signature, description])])];
  const secrets = decoded === undefined ? sentSecrets : [...sentSecrets, ...findPasswords(decoded.envelope)];
  let envelope = decoded === undefined ? undefined : maskDecodedResponse(decoded, secrets);
  const hasSecrets = task.readsSecrets === true || findSecrets(description).length > 0;
  const unreadableResponse =
    decoded === undefined && isSuccess(status)
      ? describeUnreadableResponse(
          response,
          unreadableReason,
          hasSecrets ? undefined : createMask(secrets.flatMap(listEncodedForms)),
        )
      : undefined;
  const createError = (kind: ServiceErrorKind, problem: string, retryAfterMs?: number): ServiceError =>
    createServiceError(kind, activity, problem, {
      httpStatus: status,
      code: envelope?.status.code,
      text: envelope?.status.text,
      stid: envelope?.stid,
      retryAfterMs,
      envelope,
      unreadableResponse,
    });

  const retryAfterMs = parseRetryAfter(headers['retry-after'], context.now());
  const classification = classifyResponse(task, { status, envelope, unreadableReason, retryAfterMs });
  const parseOutput = (): TaskResult<O> => {
    if (decoded === undefined || envelope === undefined) throw new InvalidResponseError(unreadableReason);
    return task.parseOutput({
      envelope: task.readsSecrets === true ? decoded.envelope : envelope,
      setCookieHeaders: toHeaderList(headers['set-cookie']),
    });
  };
  if (classification.kind !== 'done') {
    if (task.readsSecrets === true && envelope !== undefined)
      envelope = maskReadSecrets(parseOutput, envelope, secrets);
    throw createError(classification.kind, classification.problem, classification.retryAfterMs);
  }
  if (decoded === undefined || envelope === undefined)
    throw createError(getUnclearOutcomeKind(task), unreadableReason);

  let result: TaskResult<O>;
  try {
    result = parseOutput();
  } catch (error) {
    throw createError(
      getUnclearOutcomeKind(task),
      error instanceof InvalidResponseError ? error.message : 'the response could not be read',
    );
  }
  const { output, secrets: outputSecrets = [], envelope: taskEnvelope = envelope } = result;
  const needsMasking = outputSecrets.length > 0 || taskEnvelope !== envelope;
  return {
    output,
    envelope: needsMasking
      ? maskEnvelope(taskEnvelope, createMask([...secrets, ...outputSecrets]))
      : envelope,
    interface: via,
    httpStatus: status,
  };
}

/** Masks the secrets that the task would have read on success, and omits undocumented parts. */
function maskReadSecrets<O>(
  parseOutput: () => TaskResult<O>,
  envelope: Envelope,
  secrets: readonly string[],
): Envelope {
  let outputSecrets: readonly string[];
  try {
    outputSecrets = parseOutput().secrets ?? [];
  } catch {
    outputSecrets = [];
  }
  const { received: _received, object, data, ...otherFields } = envelope;
  const trimmedEnvelope = {
    ...otherFields,
    object: object && { ...object, data: undefined },
    data: data.map(() => MASK),
  };
  return maskEnvelope(trimmedEnvelope, createMask([...secrets, ...outputSecrets]));
}

async function sendAndReceive<O>(
  context: ClientContext,
  { task, activity }: PreparedRequest<O>,
  request: HttpRequest,
  { deadline, sendDeadline }: SendOptions,
): Promise<HttpResponse> {
  const limits: ExchangeLimits = {
    timeoutMs: deadline.endsAt - performance.now(),
    maxBytes: MAX_RESPONSE_BYTES,
    signal: deadline.signal,
    sendDeadline,
  };
  try {
    return task.effect === 'charge'
      ? await exchangeOnFreshConnection(request, limits)
      : await exchange(context.dispatcher, request, limits);
  } catch (error) {
    if (error instanceof TooLateError) throw new SuspendedError(error.message);
    if (!(error instanceof HttpExchangeError)) {
      throw createServiceError(getUnclearOutcomeKind(task), activity, 'the request failed', { cause: error });
    }
    const kind = error.mayHaveBeenSent ? getUnclearOutcomeKind(task) : 'not_sent';
    const { status, message } = error;
    const details: Partial<ServiceErrorDetails> = isSuccess(status)
      ? { httpStatus: status, unreadableResponse: { reason: message } }
      : {};
    throw createServiceError(kind, activity, message, { cause: error.cause ?? error, ...details });
  }
}

function getUnclearOutcomeKind(task: { readonly effect: string }): 'invalid_response' | 'unknown_outcome' {
  return task.effect === 'read' ? 'invalid_response' : 'unknown_outcome';
}

function isSuccess(status: number | undefined): boolean {
  return status !== undefined && status >= 200 && status < 300;
}

const MAX_UNREADABLE_BODY_LENGTH = 4_000;

/** @param mask if undefined, the body isn't kept */
function describeUnreadableResponse(
  { rawBody, headers }: HttpResponse,
  reason: string,
  mask: Mask | undefined,
): UnreadableResponse {
  const text = isUtf8(rawBody) ? rawBody.toString() : rawBody.toString('latin1');
  const body = mask && maskBody(text, mask);
  return {
    reason,
    contentType: toHeaderList(headers['content-type'])[0],
    contentEncoding: toHeaderList(headers['content-encoding']).join(', ') || undefined,
    body: body && escapeUnprintable(body, isUtf8(rawBody)).slice(0, MAX_UNREADABLE_BODY_LENGTH),
  };
}

/** @returns undefined if the text has a secret in another encoding, such as `&quot;` for a quotation mark */
function maskBody(text: string, mask: Mask): string | undefined {
  const maskedText = mask(text);
  const decodedTexts = [decodeReferences(maskedText), decodeJsonEscapes(maskedText)];
  return decodedTexts.every((decodedText) => mask(decodedText) === decodedText) ? maskedText : undefined;
}

/** Decodes the escapes that some JSON encoders use without need, such as `\/` and `\u0070`. */
function decodeJsonEscapes(text: string): string {
  return text.replace(/\\(?:u([0-9a-f]{4})|(.))/gi, (_escape, hex, character) =>
    typeof hex === 'string' ? String.fromCharCode(Number.parseInt(hex, 16)) : String(character),
  );
}

/** Returns the secret as is, escaped for HTML and for JSON, and with its UTF-8 bytes read as Latin-1. */
function listEncodedForms(secret: string): readonly string[] {
  const html = secret.replace(/[&<>]/g, (character) => ({ '&': '&amp;', '<': '&lt;' })[character] ?? '&gt;');
  return [secret, html, JSON.stringify(secret).slice(1, -1), Buffer.from(secret).toString('latin1')];
}

/** Replaces unprintable bytes with escapes such as `\x80`. */
function escapeUnprintable(text: string, isUtf8Text: boolean): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters to escape
  const unprintable = isUtf8Text ? /[\0-\x08\x0b-\x1f\x7f]/g : /[\0-\x08\x0b-\x1f\x7f-\xff]/g;
  return text.replace(
    unprintable,
    (character) => `\\x${character.charCodeAt(0).toString(16).padStart(2, '0')}`,
  );
}

function decodeResponse(
  via: Interface,
  { body, headers }: HttpResponse,
): { readonly decoded?: DecodedResponse; readonly unreadableReason: string } {
  if (body === undefined)
    return { unreadableReason: 'the response is compressed in a way that cannot be read' };
  const contentType = toHeaderList(headers['content-type'])[0];
  try {
    const decoded = via === 'json' ? decodeJson(body, contentType) : decodeXml(body, contentType);
    return { decoded, unreadableReason: '' };
  } catch (error) {
    return {
      unreadableReason:
        error instanceof InvalidResponseError ? error.message : 'the response could not be read',
    };
  }
}

function maskDecodedResponse(
  { envelope, text, canHideSecrets }: DecodedResponse,
  secrets: readonly string[],
): Envelope {
  const mayContainSecrets = canHideSecrets || secrets.some((secret) => text.includes(secret));
  return mayContainSecrets ? maskEnvelope(envelope, createMask(secrets)) : envelope;
}

function findSecrets(value: unknown, secrets: string[] = []): string[] {
  if (value instanceof Secret) secrets.push(value.reveal());
  else if (Array.isArray(value)) for (const item of value) findSecrets(item, secrets);
  else if (isRecord(value)) for (const name in value) findSecrets(value[name], secrets);
  return secrets;
}

/** Passwords in messages are always secrets. */
function findPasswords({ messages }: Envelope): string[] {
  return messages.flatMap(({ objects }) =>
    objects.filter(({ type }) => type.toLowerCase() === 'password').map(({ value }) => value),
  );
}

function toHeaderList(header: string | string[] | undefined): readonly string[] {
  return header === undefined ? [] : Array.isArray(header) ? header : [header];
}
