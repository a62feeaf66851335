import type { z } from 'zod';
import { authenticate } from '../access.ts';
import type { Notice } from '../answer.ts';
import type { ReceivedRequest } from '../incoming.ts';
import type { Caller, ServiceState } from '../operations/caller.ts';
import type { ServiceTask } from '../tasks.ts';
import { checkNoBody, checkQuery, readClaim, readJsonBody } from './request.ts';

/** An envelope without its status and `stid`. */
export interface JsonOutcome {
  readonly object?: {
    readonly type: string;
    readonly value?: string;
    readonly summary?: number;
    readonly data?: unknown;
  };
  readonly notices?: readonly Notice[];
  readonly data?: readonly unknown[];
  readonly headers?: Readonly<Record<string, string>>;
}

export interface Route {
  readonly method: string;
  /** The path below the base, with `*` for the variable segment. */
  readonly path: string;
  readonly task: ServiceTask;
  /** @param name the decoded variable segment of the path; '' if there is none */
  run(service: ServiceState, incoming: ReceivedRequest, name: string): JsonOutcome;
}

/** The validated input of a route's handler. */
interface HandlerInput<T> {
  readonly service: ServiceState;
  readonly caller: Caller;
  readonly name: string;
  readonly query: URLSearchParams;
  readonly ctid: string | undefined;
  readonly body: T;
}

type RouteDescription = Omit<Route, 'run'> & {
  /** Query parameters, in addition to the general ones. */
  readonly queryParameters?: readonly string[];
};

/** Creates a route whose requests have a body. Checks the caller first, then the query, then the body. */
export function createRoute<T>(
  description: RouteDescription,
  schema: z.ZodType<T>,
  handle: (call: HandlerInput<T>) => JsonOutcome,
): Route {
  return createCheckedRoute(description, (incoming) => readJsonBody(incoming, schema), handle);
}

export function createBodilessRoute(
  description: RouteDescription,
  handle: (call: HandlerInput<void>) => JsonOutcome,
): Route {
  return createCheckedRoute(description, checkNoBody, handle);
}

function createCheckedRoute<T>(
  { queryParameters = [], ...description }: RouteDescription,
  readBody: (incoming: ReceivedRequest) => T,
  handle: (call: HandlerInput<T>) => JsonOutcome,
): Route {
  return {
    ...description,
    run(service, incoming, name) {
      const caller = authenticate(service, readClaim(incoming.headers), 'json');
      checkQuery(incoming.query, queryParameters);
      const ctid = incoming.query.get('ctid') ?? undefined;
      return handle({ service, caller, name, query: incoming.query, ctid, body: readBody(incoming) });
    },
  };
}
