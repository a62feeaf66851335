import { createHash } from 'node:crypto';
import { formatCanonicalJson } from '../lib/canonical-json.ts';
import { InvalidInputError } from '../service/codec/codec-errors.ts';
import { isWireList, type WireObject, type WireValue } from '../service/codec/wire.ts';
import { getCredentialInterfaces } from '../service/interfaces.ts';
import { Secret, type SecretCommitment } from '../service/secret.ts';
import type { RequestDescription } from '../service/task.ts';
import { getChosenSendTime, getItemInput, type Order } from './order.ts';
import type {
  Statement,
  StatementItem,
  StatementObject,
  StatementRequest,
  StatementValue,
} from './statement-shape.ts';
import { getOrderTask } from './tasks.ts';

/**
 * Builds the statement of an order: everything that the order sends. People are shown the statement and approve its
 * hash, and requests are built from it. Pure.
 */

/** The domain service's URLs and the reply-to address of JSON requests, from the configuration. */
export interface ServiceEndpoints {
  /** Undefined without a domain service. Orders then have no statement, and nothing is sent. */
  readonly jsonUrl: string | undefined;
  readonly xmlUrl: string | undefined;
  readonly replyTo: string | undefined;
}

export type UnhashedOrder = Omit<Order, 'statementHash'>;

/** SHA-256 (hex) of a statement's canonical form. */
export function hashStatement(statement: Statement): string {
  return createHash('sha256').update(formatCanonicalJson(statement)).digest('hex');
}

/**
 * Rebuilds an order's statement and checks its hash.
 * @returns undefined if the order's rows don't match the statement that people approved
 */
export function verifyStatement(order: Order, endpoints: ServiceEndpoints): Statement | undefined {
  const statement = tryBuildStatement(order, endpoints);
  return statement !== undefined && hashStatement(statement) === order.statementHash ? statement : undefined;
}

/** @returns undefined if the order's rows are invalid */
export function tryBuildStatement(order: UnhashedOrder, endpoints: ServiceEndpoints): Statement | undefined {
  try {
    return buildStatement(order, endpoints);
  } catch (error) {
    if (!(error instanceof InvalidInputError)) throw error;
    return undefined;
  }
}

/** @throws {InvalidInputError} if the rows are invalid */
export function buildStatement(
  order: UnhashedOrder,
  { jsonUrl, xmlUrl, replyTo }: ServiceEndpoints,
): Statement {
  const { id, task, account } = order;
  if (jsonUrl === undefined) throw new InvalidInputError('no domain service is connected');
  const chosenTime = getChosenSendTime(order);
  const interfaces = getCredentialInterfaces(account.method, xmlUrl !== undefined);
  const items = order.items.map((item): StatementItem => {
    const { n, name, ctid } = item;
    const secretHash = item.secretHash ?? order.secretHash;
    const secret: SecretCommitment | undefined =
      secretHash === undefined ? undefined : { secret: secretHash };
    const request = getOrderTask(task).describeRequest(
      { input: getItemInput(order, item), name, secret },
      interfaces,
    );
    return { n, name, ctid, request: toStatementRequest(request) };
  });
  const hasJsonRequest = items.some(({ request }) => request.interface !== 'xml');
  return {
    version: 1,
    order: id,
    task,
    ...(chosenTime === undefined ? {} : { notBefore: chosenTime.toISOString() }),
    service: hasJsonRequest || xmlUrl === undefined ? jsonUrl : xmlUrl,
    ...(hasJsonRequest && replyTo !== undefined ? { replyTo } : {}),
    account: {
      method: account.method,
      login: account.login,
      ...(account.context === undefined ? {} : { context: account.context }),
      team: account.isTeamAccount === true,
    },
    items,
  };
}

function toStatementRequest(
  request: RequestDescription | Extract<StatementRequest, { interface: 'none' }>,
): StatementRequest {
  if (request.interface === 'none') return request;
  if (request.interface === 'xml') return { ...request, element: toStatementObject(request.element) };
  const { body, ...rest } = request;
  return body === undefined ? rest : { ...rest, body: toStatementValue(body) };
}

/** Omits undefined values, which aren't sent. */
function toStatementObject(values: WireObject): StatementObject {
  return Object.fromEntries(
    Object.entries(values).flatMap(([field, value]) =>
      value === undefined ? [] : [[field, toStatementValue(value)] as const],
    ),
  );
}

function toStatementValue(value: WireValue): StatementValue {
  if (value instanceof Secret) throw new InvalidInputError('a statement contains an unhashed secret');
  if (typeof value !== 'object') return value;
  return isWireList(value) ? value.map(toStatementValue) : toStatementObject(value);
}
