import { authenticate, type Claim } from '../access.ts';
import { type Answer, type Notice, SUCCESS_STATUSES } from '../answer.ts';
import { checkContentType, decodeBody, type ReceivedRequest, type RequestPlan } from '../incoming.ts';
import { isSecretName, MASK } from '../mask.ts';
import type { ServiceState } from '../operations/caller.ts';
import { Refusal, type RefusalDetails } from '../refusal.ts';
import { parseXml, readText, type XmlElement, type XmlMarkup, xmlElement } from './codec.ts';
import { readClaim, splitRequest } from './request.ts';
import { XML_TASKS, type XmlOutcome } from './tasks.ts';

/**
 * The XML interface has one URL, which accepts only POST without query parameters. Refusals have HTTP status 200 and
 * a status of type `error`, except HTTP errors and wrong credentials (401, 403, 405, 413, 415). The API doesn't
 * document the HTTP statuses of refusals, so the sandbox chooses them.
 */

const PRESERVED_HTTP_STATUSES = new Set([401, 403, 405, 413, 415]);

interface ParsedRequest {
  readonly root: XmlElement;
  readonly code: string;
  readonly task: XmlElement;
  readonly claim: Claim | Refusal;
}

export function planXml(service: ServiceState, incoming: ReceivedRequest): RequestPlan {
  const parsedRequest = catchRefusal(() => parseRequest(incoming.body));
  const xmlTask = parsedRequest instanceof Refusal ? undefined : XML_TASKS.get(parsedRequest.code);
  const claim = parsedRequest instanceof Refusal ? parsedRequest : parsedRequest.claim;
  return {
    task: xmlTask?.serviceTask ?? null,
    name: parsedRequest instanceof Refusal ? null : readName(parsedRequest.task, xmlTask?.namePath),
    claim: claim instanceof Refusal ? null : claim,
    loggedBody: formatBodyForLog(incoming.body, parsedRequest),
    run() {
      const answerOrRefusal = catchRefusal(() => {
        if (incoming.method !== 'POST')
          throw new Refusal('malformed', `${incoming.method}: POST is needed`, 405);
        checkContentType(incoming, ['text/xml', 'application/xml']);
        if (incoming.query.size > 0)
          throw new Refusal('malformed', 'query: the XML interface has no parameters');
        if (parsedRequest instanceof Refusal) throw parsedRequest;
        if (parsedRequest.claim instanceof Refusal) throw parsedRequest.claim;
        if (xmlTask === undefined)
          throw new Refusal('malformed', `code: there is no task ${parsedRequest.code}`);
        const caller = authenticate(service, parsedRequest.claim, 'xml');
        const outcome = xmlTask.run({
          service,
          caller,
          claim: parsedRequest.claim,
          taskElement: parsedRequest.task,
        });
        return createResponse(
          service,
          200,
          { ...SUCCESS_STATUSES[xmlTask.serviceTask], type: 'success' },
          outcome,
        );
      });
      if (!(answerOrRefusal instanceof Refusal)) return answerOrRefusal;
      const httpStatus = PRESERVED_HTTP_STATUSES.has(answerOrRefusal.httpStatus)
        ? answerOrRefusal.httpStatus
        : 200;
      return createXmlError(service, {
        code: answerOrRefusal.code,
        message: answerOrRefusal.message,
        httpStatus,
      });
    },
  };
}

/** Creates an error response. The HTTP status is 200 unless the refusal has its own. */
export function createXmlError(
  service: ServiceState,
  { code, message: text, httpStatus = 200 }: RefusalDetails,
): Answer {
  return createResponse(service, httpStatus, { code, text, type: 'error' }, {});
}

function catchRefusal<T>(action: () => T): T | Refusal {
  try {
    return action();
  } catch (error) {
    if (error instanceof Refusal) return error;
    throw error;
  }
}

function parseRequest(body: Uint8Array): ParsedRequest {
  const root = parseXml(decodeBody(body));
  const { authBlock, code, task } = splitRequest(root);
  return { root, code, task, claim: catchRefusal(() => readClaim(authBlock)) };
}

function readName(task: XmlElement, namePath: readonly [string, string] | undefined): string | null {
  const [elementName, childName] = namePath ?? [];
  const nameElement = task.children
    .find((candidate) => candidate.name === elementName)
    ?.children.find((candidate) => candidate.name === childName && candidate.children.length === 0);
  return nameElement === undefined ? null : readText(nameElement);
}

/** If a body couldn't be parsed, a secret may be anywhere in it, so only its size is logged. */
function formatBodyForLog(body: Uint8Array, parsedRequest: ParsedRequest | Refusal): string | null {
  if (body.length === 0) return null;
  return parsedRequest instanceof Refusal
    ? `[${body.length} bytes that are not a request]`
    : maskElement(parsedRequest.root).text;
}

function maskElement({ name, children, text }: XmlElement): XmlMarkup {
  // In JSON bodies, `auth` is a secret. In XML, `auth` is the block that contains the credentials.
  if (name !== 'auth' && isSecretName(name)) return xmlElement(name, MASK);
  return xmlElement(name, ...(children.length > 0 ? children.map(maskElement) : [text]));
}

function createResponse(
  service: ServiceState,
  httpStatus: number,
  status: { code: string; text: string; type: string },
  { data = [], notices = [], object }: XmlOutcome,
): Answer {
  const result = xmlElement(
    'result',
    xmlElement('data', ...data),
    ...notices.map(formatNotice),
    xmlElement(
      'status',
      xmlElement('code', status.code),
      xmlElement('text', status.text),
      xmlElement('type', status.type),
      ...(object === undefined ? [] : [createObjectElement(object)]),
    ),
  );
  const root = xmlElement('response', result, xmlElement('stid', service.state.nextStid()));
  return {
    httpStatus,
    headers: { 'content-type': 'text/xml;charset=UTF-8' },
    body: `<?xml version="1.0" encoding="UTF-8"?>\n${root.text}`,
    code: status.code,
  };
}

function formatNotice({ code, text, object }: Notice): XmlMarkup {
  return xmlElement(
    'msg',
    xmlElement('text', text),
    xmlElement('code', code),
    xmlElement('type', 'notice'),
    createObjectElement(object),
  );
}

function createObjectElement({ type, value }: { type: string; value: string }): XmlMarkup {
  return xmlElement('object', xmlElement('type', type), xmlElement('value', value));
}
