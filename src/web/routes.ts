import { readFile } from 'node:fs/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createRequire } from 'node:module';
import type { Order } from '../orders/order.ts';
import type { Refusal } from '../orders/refusal.ts';
import type { PolicyRule } from '../policy/policy.ts';
import { type Ceremonies, isProblem, type SigningPage, type SigningProblem } from './ceremony.ts';
import { TOKEN_PATTERN } from './links.ts';
import {
  type CardFormatters,
  formatProblemPage,
  formatResult,
  formatSigningPage,
  getProblemText,
  type OrderFacts,
  type PageFacts,
} from './page.view.ts';

export interface PageDeps {
  readonly ceremonies: Ceremonies;
  readonly formatters: CardFormatters;
  readonly formatRefusal: (refusal: Refusal) => Promise<string>;
  readonly loadDisplayName: (userId: string) => Promise<string>;
  readonly formatPolicyFile: (rules: readonly PolicyRule[]) => string;
  readonly loadOrderFacts: (order: Order) => Promise<OrderFacts>;
  /** The pages' origin. Signing requests must come from it. */
  readonly origin: string;
}

export interface Pages {
  /** @returns whether the path belongs to a page */
  handle(path: string, request: IncomingMessage, response: ServerResponse): Promise<boolean>;
}

const PAGE_PATH = /^\/(?:sign|keys)\/([^/]+)$/;
/** Larger than any authenticator's response. */
const MAX_BODY_BYTES = 64_000;

const HEADERS = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'cross-origin-opener-policy': 'same-origin',
  'permissions-policy': 'publickey-credentials-get=(self), publickey-credentials-create=(self)',
  'x-frame-options': 'DENY',
} as const;

const ASSETS: Readonly<Record<string, string>> = {
  'page.js': 'text/javascript; charset=utf-8',
  'page.css': 'text/css; charset=utf-8',
};

const { resolve } = createRequire(import.meta.url);

export function createPages(deps: PageDeps): Pages {
  const { ceremonies, formatters, origin } = deps;

  const formatProblem = async (problem: SigningProblem) =>
    problem.code === 'refused' ? deps.formatRefusal(problem.refusal) : getProblemText(problem.code);

  async function sendSigningPage(token: string, response: ServerResponse): Promise<void> {
    const pageOrProblem: SigningPage | SigningProblem = TOKEN_PATTERN.test(token)
      ? await ceremonies.open(token)
      : { code: 'unknown_link' };
    const page = isProblem(pageOrProblem)
      ? formatProblemPage(pageOrProblem.code, await formatProblem(pageOrProblem))
      : formatSigningPage(pageOrProblem, formatters, await loadFacts(deps, pageOrProblem));
    response.writeHead(page.status, { 'content-type': 'text/html; charset=utf-8' });
    response.end(page.html);
  }

  async function finishCeremony(
    token: string,
    request: IncomingMessage,
    response: ServerResponse,
  ): Promise<void> {
    const body = await readJson(request);
    const result = await (TOKEN_PATTERN.test(token)
      ? ceremonies.finish(token, body)
      : ({ code: 'unknown_link' } satisfies SigningProblem));
    const isDone = !isProblem(result);
    const details = isDone
      ? formatResult(result)
      : { title: 'Not signed', text: await formatProblem(result), code: result.code };
    sendJson(response, isDone ? 200 : 409, { done: isDone, ...details });
  }

  return {
    async handle(path, request, response) {
      const segment = PAGE_PATH.exec(path)?.[1];
      if (segment === undefined) return false;
      for (const [name, value] of Object.entries(HEADERS)) response.setHeader(name, value);
      const isGetOrHead = request.method === 'GET' || request.method === 'HEAD';
      const contentType = ASSETS[segment];
      if (contentType !== undefined && isGetOrHead) {
        response.writeHead(200, { 'content-type': contentType });
        response.end(await readFile(resolve(`#web/${segment}`)));
      } else if (isGetOrHead) await sendSigningPage(segment, response);
      else if (request.method !== 'POST') sendJson(response, 405, { error: 'only GET and POST are allowed' });
      else if (request.headers.origin !== origin)
        sendJson(response, 403, { error: 'the request must come from this page' });
      else await finishCeremony(segment, request, response);
      return true;
    },
  };
}

async function loadFacts(
  { loadDisplayName, formatPolicyFile, loadOrderFacts }: PageDeps,
  page: SigningPage,
): Promise<PageFacts> {
  const content = page.kind === 'sign' ? page.content : undefined;
  const order = content?.kind === 'order' ? content.order : undefined;
  const charter = content?.kind === 'charter' ? content : undefined;
  const key = content !== undefined && 'key' in content ? content.key : undefined;
  const userIds = new Set([
    content?.userId ?? (page.kind === 'add' ? page.userId : ''),
    ...(order === undefined ? [] : [order.requesterId]),
    ...(key === undefined ? [] : [key.owner]),
    ...(charter?.settings.approvers ?? []),
    ...(charter?.settings.silent_approvers ?? []),
    ...(charter?.published_by == null ? [] : [charter.published_by]),
  ]);
  const [names, facts] = await Promise.all([
    Promise.all([...userIds].map(async (id) => [id, await loadDisplayName(id)] as const)),
    order && loadOrderFacts(order),
  ]);
  return {
    displayNames: new Map(names),
    orderFacts: facts,
    policyFile: charter === undefined ? '' : formatPolicyFile(charter.policy.rules),
  };
}

function sendJson(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify(body));
}

/** @returns undefined if the body isn't JSON or is too large */
async function readJson(request: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = [];
  let byteCount = 0;
  for await (const chunk of request.iterator({ destroyOnReturn: false })) {
    if (!(chunk instanceof Buffer)) continue;
    byteCount += chunk.length;
    if (byteCount <= MAX_BODY_BYTES) chunks.push(chunk);
  }
  if (byteCount > MAX_BODY_BYTES) return undefined;
  try {
    return JSON.parse(Buffer.concat(chunks).toString('utf8'));
  } catch {
    return undefined;
  }
}
