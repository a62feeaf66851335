import { admit, type Claim } from '../access.ts';
import { type Answer, type Notice, SUCCESS } from '../answer.ts';
import { bodyText, checkContentType, type Incoming, type Plan } from '../incoming.ts';
import { isSecretName, MASK } from '../mask.ts';
import type { ServiceState } from '../operations/caller.ts';
import { Refusal, type RefusedWith } from '../refusal.ts';
import { parseXml, readText, type XmlElement, type XmlMarkup, xmlElement } from './codec.ts';
import { readClaim, readFrame } from './request.ts';
import { XML_TASKS, type XmlOutcome } from './tasks.ts';

/**
 * The XML interface: one URL, POST only, without query parameters. A refusal is an ordinary response with HTTP status
 * 200 and a status of type `error`. Errors of HTTP or of the credentials have other statuses (401, 403, 405, 413, 415).
 * Neither is documented.
 */

const HTTP_REFUSALS = new Set([401, 403, 405, 413, 415]);

interface ParsedRequest {
  readonly root: XmlElement;
  readonly code: string;
  readonly task: XmlElement;
  readonly claim: Claim | Refusal;
}

export function planXml(service: ServiceState, incoming: Incoming): Plan {
  const parsed = attempt(() => parseRequest(incoming.body));
  const known = parsed instanceof Refusal ? undefined : XML_TASKS.get(parsed.code);
  const claim = parsed instanceof Refusal ? parsed : parsed.claim;
  return {
    task: known?.task ?? null,
    name: parsed instanceof Refusal ? null : subjectOf(parsed.task, known?.subject),
    claim: claim instanceof Refusal ? null : claim,
    loggedBody: logged(incoming.body, parsed),
    run() {
      const outcome = attempt(() => {
        if (incoming.method !== 'POST')
          throw new Refusal('malformed', `${incoming.method}: POST is needed`, 405);
        checkContentType(incoming, ['text/xml', 'application/xml']);
        if (incoming.query.size > 0)
          throw new Refusal('malformed', 'query: the XML interface has no parameters');
        if (parsed instanceof Refusal) throw parsed;
        if (parsed.claim instanceof Refusal) throw parsed.claim;
        if (known === undefined) throw new Refusal('malformed', `code: there is no task ${parsed.code}`);
        const caller = admit(service, parsed.claim, 'xml');
        const answered = known.run({ service, caller, claim: parsed.claim, task: parsed.task });
        return response(service, 200, { ...SUCCESS[known.task], type: 'success' }, answered);
      });
      if (!(outcome instanceof Refusal)) return outcome;
      const httpStatus = HTTP_REFUSALS.has(outcome.httpStatus) ? outcome.httpStatus : 200;
      return xmlRefusal(service, { code: outcome.code, message: outcome.message, httpStatus });
    },
  };
}

/** An error response, with HTTP status 200 unless the refusal has its own status. */
export function xmlRefusal(
  service: ServiceState,
  { code, message: text, httpStatus = 200 }: RefusedWith,
): Answer {
  return response(service, httpStatus, { code, text, type: 'error' }, {});
}

function attempt<T>(work: () => T): T | Refusal {
  try {
    return work();
  } catch (error) {
    if (error instanceof Refusal) return error;
    throw error;
  }
}

function parseRequest(body: Uint8Array): ParsedRequest {
  const root = parseXml(bodyText(body));
  const { block, code, task } = readFrame(root);
  return { root, code, task, claim: attempt(() => readClaim(block)) };
}

function subjectOf(task: XmlElement, subject: readonly [string, string] | undefined): string | null {
  const [element, child] = subject ?? [];
  const found = task.children
    .find((one) => one.name === element)
    ?.children.find((one) => one.name === child && one.children.length === 0);
  return found === undefined ? null : readText(found);
}

/** If a body couldn't be parsed, a secret may be anywhere in it, so only its size is logged. */
function logged(body: Uint8Array, parsed: ParsedRequest | Refusal): string | null {
  if (body.length === 0) return null;
  return parsed instanceof Refusal ? `[${body.length} bytes that are no request]` : masked(parsed.root).text;
}

function masked({ name, children, text }: XmlElement): XmlMarkup {
  // In JSON bodies, `auth` is a secret. Here, it is the block with the credentials.
  if (name !== 'auth' && isSecretName(name)) return xmlElement(name, MASK);
  return xmlElement(name, ...(children.length > 0 ? children.map(masked) : [text]));
}

function response(
  service: ServiceState,
  httpStatus: number,
  status: { code: string; text: string; type: string },
  { data = [], notices = [], object }: XmlOutcome,
): Answer {
  const result = xmlElement(
    'result',
    xmlElement('data', ...data),
    ...notices.map(notice),
    xmlElement(
      'status',
      xmlElement('code', status.code),
      xmlElement('text', status.text),
      xmlElement('type', status.type),
      ...(object === undefined ? [] : [objectElement(object)]),
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

function notice({ code, text, object }: Notice): XmlMarkup {
  return xmlElement(
    'msg',
    xmlElement('text', text),
    xmlElement('code', code),
    xmlElement('type', 'notice'),
    objectElement(object),
  );
}

function objectElement({ type, value }: { type: string; value: string }): XmlMarkup {
  return xmlElement('object', xmlElement('type', type), xmlElement('value', value));
}
