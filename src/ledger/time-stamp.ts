import { createHash, randomBytes } from 'node:crypto';
import { fromBER, Integer, OctetString, Sequence } from 'asn1js';
import {
  AlgorithmIdentifier,
  type Certificate,
  type ContentInfo,
  ExtKeyUsage,
  MessageImprint,
  SignedData,
  TimeStampReq,
  TimeStampResp,
  TSTInfo,
} from 'pkijs';
import { exchangeOnFreshConnection, HttpExchangeError } from '../http/exchange.ts';

/*
 * Time stamps of a service (RFC 3161). The service learns a hash and signs it with the moment. Who it is, whoever relies on the
 * stamp looks at: the bot knows no roots of such services.
 */

/** What a service has signed over a text. */
export interface TimeStamp {
  /** The token as it came, DER. */
  readonly token: Uint8Array;
  /** The moment that it says. */
  readonly at: Date;
}

/** Why there is no time stamp. `code` is for the log: `refused`, `other_imprint`, `http_503`, `timeout`, … */
export class TimeStampError extends Error {
  override readonly name = 'TimeStampError';
  readonly code: string;

  constructor(code: string, cause?: unknown) {
    super(`no time stamp: ${code}`, cause === undefined ? undefined : { cause });
    this.code = code;
  }
}

export interface TimeStampLimits {
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
}

const SHA256 = '2.16.840.1.101.3.4.2.1';
const SIGNED_DATA = '1.2.840.113549.1.7.2';
const TST_INFO = '1.2.840.113549.1.9.16.1.4';
const TIME_STAMPING = '1.3.6.1.5.5.7.3.8';
/** A token with the certificates of its service has some kilobytes. */
const MAX_ANSWER_BYTES = 64 * 1024;
const NONCE_BYTES = 8;
/** `granted` and `grantedWithMods`; every other status refuses. */
const GRANTED = [0, 1];

/**
 * Asks a service to stamp a text, and verifies what it answers: that it is over this text and for this request, and that the key of
 * the certificate in it has signed it, which is one for time stamps and was valid at the moment.
 * @throws {TimeStampError}
 */
export async function askForTimeStamp(url: URL, text: string, limits: TimeStampLimits): Promise<TimeStamp> {
  const nonce = randomBytes(NONCE_BYTES);
  // A number of one form: it is not negative, and does not begin with zeros.
  nonce[0] = 0x40 | ((nonce[0] ?? 0) & 0x3f);
  const answer = await post(url, requestOf(text, nonce), limits);
  return readAnswer(answer, text, nonce);
}

function requestOf(text: string, nonce: Uint8Array): Uint8Array {
  const request = new TimeStampReq({
    version: 1,
    messageImprint: new MessageImprint({
      hashAlgorithm: new AlgorithmIdentifier({ algorithmId: SHA256 }),
      hashedMessage: new OctetString({ valueHex: imprintOf(text) }),
    }),
    nonce: new Integer({ valueHex: nonce }),
    certReq: true,
  });
  return new Uint8Array(request.toSchema().toBER());
}

function imprintOf(text: string): Uint8Array {
  return createHash('sha256').update(text).digest();
}

async function post(url: URL, body: Uint8Array, limits: TimeStampLimits): Promise<Buffer> {
  const headers = ['content-type', 'application/timestamp-query', 'accept', 'application/timestamp-reply'];
  const request = { origin: url.origin, path: `${url.pathname}${url.search}`, headers, body } as const;
  try {
    const answer = await exchangeOnFreshConnection(
      { ...request, method: 'POST' },
      { ...limits, maxBytes: MAX_ANSWER_BYTES },
    );
    if (answer.status !== 200) throw new TimeStampError(`http_${answer.status}`);
    if (answer.body === undefined) throw new TimeStampError('content_coding');
    return answer.body;
  } catch (error) {
    if (error instanceof HttpExchangeError) throw new TimeStampError(error.failure, error);
    throw error;
  }
}

async function readAnswer(answer: Buffer, text: string, nonce: Uint8Array): Promise<TimeStamp> {
  const { response, token } = readable(() => responseOf(answer));
  const { status, timeStampToken } = response;
  if (!GRANTED.includes(status.status)) throw new TimeStampError('refused');
  const { signed, info } = readable(() => contentOf(timeStampToken));
  const { messageImprint } = info;
  const isSame = (one: Uint8Array, other: Uint8Array) => Buffer.compare(one, other) === 0;
  if (
    messageImprint.hashAlgorithm.algorithmId !== SHA256 ||
    !isSame(messageImprint.hashedMessage.valueBlock.valueHexView, imprintOf(text))
  )
    throw new TimeStampError('other_imprint');
  if (info.nonce === undefined || !isSame(info.nonce.valueBlock.valueHexView, nonce))
    throw new TimeStampError('other_nonce');
  const data = new Uint8Array(Buffer.from(text)).buffer;
  const result = await signed
    .verify({ signer: 0, data, checkChain: false, extendedMode: true })
    .catch(() => undefined);
  if (result?.signatureVerified !== true) throw new TimeStampError('not_signed');
  if (!mayStamp(result.signerCertificate, info.genTime)) throw new TimeStampError('other_certificate');
  return { token, at: info.genTime };
}

/** Whether a certificate is one for time stamps, and for nothing else (RFC 3161, section 2.3), that was valid at a moment. */
function mayStamp(certificate: Certificate | null | undefined, at: Date): boolean {
  const { extensions = [], notBefore, notAfter } = certificate ?? {};
  const usages = extensions.flatMap(({ critical, parsedValue }) =>
    parsedValue instanceof ExtKeyUsage ? [critical ? parsedValue.keyPurposes.join() : ''] : [],
  );
  const isValid =
    notBefore !== undefined && notBefore.value <= at && notAfter !== undefined && at <= notAfter.value;
  return isValid && usages.join() === TIME_STAMPING;
}

/** The answer, and the bytes of the token in it as they came: what was signed is kept as it was signed. */
function responseOf(answer: Buffer) {
  const { result } = fromBER(new Uint8Array(answer));
  if (!(result instanceof Sequence)) throw new Error('no answer');
  const token = new Uint8Array(result.valueBlock.value[1]?.valueBeforeDecodeView ?? []);
  return { response: new TimeStampResp({ schema: result }), token };
}

function contentOf(token: ContentInfo | undefined) {
  if (token?.contentType !== SIGNED_DATA) throw new Error('no signed data');
  const signed = new SignedData({ schema: token.content });
  const { eContentType, eContent } = signed.encapContentInfo;
  if (eContentType !== TST_INFO || eContent === undefined) throw new Error('no content of a time stamp');
  return { signed, info: TSTInfo.fromBER(eContent.getValue()) };
}

/** @throws {TimeStampError} for what is no answer of such a service */
function readable<Read>(read: () => Read): Read {
  try {
    return read();
  } catch (error) {
    throw new TimeStampError('unreadable', error);
  }
}
