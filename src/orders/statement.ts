import { createHash } from 'node:crypto';
import { canonicalJson } from '../lib/canonical-json.ts';
import { InvalidInputError } from '../service/codec/codec-errors.ts';
import { isWireList, type WireObject, type WireValue } from '../service/codec/wire.ts';
import { listCredentialInterfaces } from '../service/interfaces.ts';
import { Secret, type SecretCommitment } from '../service/secret.ts';
import type { RequestDescription } from '../service/task.ts';
import { getChosenTime, getItemInput, type Order } from './order.ts';
import type {
  StatedObject,
  StatedRequest,
  StatedValue,
  Statement,
  StatementItem,
} from './statement-shape.ts';
import { findTask } from './tasks.ts';

/**
 * The statement: everything an order sends. It is shown to people, hashed and approved, and requests are built from it.
 * Pure.
 */

/** The service's URLs and the fields of every request, from the configuration. */
export interface ServiceEndpoints {
  /** Undefined without a domain service: then orders have no statement, and nothing is sent. */
  readonly jsonUrl: string | undefined;
  readonly xmlUrl: string | undefined;
  readonly replyTo: string | undefined;
}

export type UnhashedOrder = Omit<Order, 'statementHash'>;

/** SHA-256 (hex) of a statement's canonical form. */
export function hashStatement(statement: Statement): string {
  return createHash('sha256').update(canonicalJson(statement)).digest('hex');
}

/**
 * An order's request, if unchanged since its creation.
 * @returns undefined if its rows don't match the statement that people saw
 */
export function verifyStatement(order: Order, places: ServiceEndpoints): Statement | undefined {
  const statement = tryBuildStatement(order, places);
  return statement !== undefined && hashStatement(statement) === order.statementHash ? statement : undefined;
}

/** The statement from an order's rows; undefined if they are invalid. */
export function tryBuildStatement(order: UnhashedOrder, places: ServiceEndpoints): Statement | undefined {
  try {
    return buildStatement(order, places);
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
  const time = getChosenTime(order);
  const interfaces = listCredentialInterfaces(account.method, xmlUrl !== undefined);
  const items = order.items.map((item): StatementItem => {
    const { n, name, ctid } = item;
    const secretHash = item.secretHash ?? order.secretHash;
    const secret: SecretCommitment | undefined =
      secretHash === undefined ? undefined : { secret: secretHash };
    const request = findTask(task).describeRequest(
      { input: getItemInput(order, item), name, secret },
      interfaces,
    );
    return { n, name, ctid, request: toStatedRequest(request) };
  });
  const hasJson = items.some(({ request }) => request.interface !== 'xml');
  return {
    version: 1,
    order: id,
    task,
    ...(time === undefined ? {} : { notBefore: time.toISOString() }),
    service: hasJson || xmlUrl === undefined ? jsonUrl : xmlUrl,
    ...(hasJson && replyTo !== undefined ? { replyTo } : {}),
    account: {
      method: account.method,
      login: account.login,
      ...(account.context === undefined ? {} : { context: account.context }),
      team: account.isTeamAccount === true,
    },
    items,
  };
}

function toStatedRequest(
  request: RequestDescription | Extract<StatedRequest, { interface: 'none' }>,
): StatedRequest {
  if (request.interface === 'none') return request;
  if (request.interface === 'xml') return { ...request, element: toStatedObject(request.element) };
  const { body, ...rest } = request;
  return body === undefined ? rest : { ...rest, body: toStatedValue(body) };
}

/** Omitted values aren't sent. */
function toStatedObject(values: WireObject): StatedObject {
  return Object.fromEntries(
    Object.entries(values).flatMap(([field, value]) =>
      value === undefined ? [] : [[field, toStatedValue(value)] as const],
    ),
  );
}

function toStatedValue(value: WireValue): StatedValue {
  if (value instanceof Secret) throw new InvalidInputError('a secret is unhashed in a statement');
  if (typeof value !== 'object') return value;
  return isWireList(value) ? value.map(toStatedValue) : toStatedObject(value);
}
