import { authenticate, type Claim } from '../access.ts';
import { type Answer, type Notice, SUCCESS_STATUSES } from '../answer.ts';
import { bodyText, checkContentType, type Plan, type ReceivedRequest } from '../incoming.ts';
import { isSecretName, MASK } from '../mask.ts';
import type { ServiceState } from '../operations/caller.ts';
import { Refusal, type RefusalDetails } from '../refusal.ts';
import { parseXml, readText, type XmlElement, type XmlMarkup, xmlElement } from './codec.ts';
import { readClaim, readFrame } from './request.ts';
import { XML_TASKS, type XmlOutcome } from './tasks.ts';

/**
 * The XML interface has one URL, which accepts only POST without query parameters. A refusal is an ordinary response
 * with HTTP status 200 and a status of type `error`. HTTP errors and wrong credentials have their own HTTP statuses
 * (401, 403, 405, 413, 415). This is the sandbox's choice, because the API doesn't document it.
 */

const HTTP_REFUSALS = new Set([401, 403, 405, 413, 415]);

interface ParsedRequest {
  readonly root: XmlElement;
  readonly code: string;
  readonly task: XmlElement;
  readonly claim: Claim | Refusal;
}

export function planXml(service: ServiceState, incoming: ReceivedRequest): Plan {
  const parsed = catchRefusal(() => parseRequest(incoming.body));
  const xmlTask = parsed instanceof Refusal ? undefined : XML_TASKS.get(parsed.code);
  const claim = parsed instanceof Refusal ? parsed : parsed.claim;
  return {
    task: xmlTask?.task ?? null,
    name: parsed instanceof Refusal ? null : readSubject(parsed.task, xmlTask?.subject),
    claim: claim instanceof Refusal ? null : claim,
    loggedBody: formatForLog(incoming.body, parsed),
    run() {
      const answer = catchRefusal(() => {
        if (incoming.method !== 'POST')
          throw new Refusal('malformed', `${incoming.method}: POST is needed`, 405);
        checkContentType(incoming, ['text/xml', 'application/xml']);
        if (incoming.query.size > 0)
          throw new Refusal('malformed', 'query: the XML interface has no parameters');
        if (parsed instanceof Refusal) throw parsed;
        if (parsed.claim instanceof Refusal) throw parsed.claim;
        if (xmlTask === undefined) throw new Refusal('malformed', `code: there is no task ${parsed.code}`);
        const caller = authenticate(service, parsed.claim, 'xml');
        const outcome = xmlTask.run({ service, caller, claim: parsed.claim, task: parsed.task });
        return createResponse(service, 200, { ...SUCCESS_STATUSES[xmlTask.task], type: 'success' }, outcome);
      });
      if (!(answer instanceof Refusal)) return answer;
      const httpStatus = HTTP_REFUSALS.has(answer.httpStatus) ? answer.httpStatus : 200;
      return createXmlRefusal(service, { code: answer.code, message: answer.message, httpStatus });
    },
  };
}

/** An error response, with HTTP status 200 unless the refusal has its own status. */
export function createXmlRefusal(
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
  const root = parseXml(bodyText(body));
  const { block, code, task } = readFrame(root);
  return { root, code, task, claim: catchRefusal(() => readClaim(block)) };
}

function readSubject(task: XmlElement, subject: readonly [string, string] | undefined): string | null {
  const [element, child] = subject ?? [];
  const nameElement = task.children
    .find((candidate) => candidate.name === element)
    ?.children.find((candidate) => candidate.name === child && candidate.children.length === 0);
  return nameElement === undefined ? null : readText(nameElement);
}

/** If a body couldn't be parsed, a secret may be anywhere in it, so only its size is logged. */
function formatForLog(body: Uint8Array, parsed: ParsedRequest | Refusal): string | null {
  if (body.length === 0) return null;
  return parsed instanceof Refusal
    ? `[${body.length} bytes that are not a request]`
    : maskElement(parsed.root).text;
}

function maskElement({ name, children, text }: XmlElement): XmlMarkup {
  // In JSON bodies, `auth` is a secret. Here, it is the block with the credentials.
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
