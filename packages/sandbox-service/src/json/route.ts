import type { z } from 'zod';
import { authenticate } from '../access.ts';
import type { Notice } from '../answer.ts';
import type { ReceivedRequest } from '../incoming.ts';
import type { Caller, ServiceState } from '../operations/caller.ts';
import type { ServiceTask } from '../tasks.ts';
import { checkNoBody, checkQuery, readClaim, readShape } from './request.ts';

/** An envelope without its status and `stid`. */
export interface Outcome {
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
  run(service: ServiceState, incoming: ReceivedRequest, name: string): Outcome;
}

/** The input of a route's handler, after validation. */
interface Call<T> {
  readonly service: ServiceState;
  readonly caller: Caller;
  readonly name: string;
  readonly query: URLSearchParams;
  readonly ctid: string | undefined;
  readonly body: T;
}

type RouteDescription = Omit<Route, 'run'> & {
  /** Query parameters, in addition to the general ones. */
  readonly query?: readonly string[];
};

/** A route with a body. Checks the caller first, then the query, then the body. */
export function route<T>(
  description: RouteDescription,
  shape: z.ZodType<T>,
  handle: (call: Call<T>) => Outcome,
): Route {
  return createCheckedRoute(description, (incoming) => readShape(incoming, shape), handle);
}

export function bodilessRoute(description: RouteDescription, handle: (call: Call<void>) => Outcome): Route {
  return createCheckedRoute(description, checkNoBody, handle);
}

function createCheckedRoute<T>(
  { query = [], ...description }: RouteDescription,
  readBody: (incoming: ReceivedRequest) => T,
  handle: (call: Call<T>) => Outcome,
): Route {
  return {
    ...description,
    run(service, incoming, name) {
      const caller = authenticate(service, readClaim(incoming.headers), 'json');
      checkQuery(incoming.query, query);
      const ctid = incoming.query.get('ctid') ?? undefined;
      return handle({ service, caller, name, query: incoming.query, ctid, body: readBody(incoming) });
    },
  };
}
