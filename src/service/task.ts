import type { z } from 'zod';
import type { Credential, JsonSignature, XmlSignature } from './authenticator/signature.ts';
import type { WireObject, WireValue } from './codec/wire.ts';
import type { Envelope } from './envelope.ts';

/** `read` changes nothing, `write` changes something, `charge` costs money. */
export type Effect = 'read' | 'write' | 'charge';

export type Interface = 'json' | 'xml';

/** See “Endpoints” in the service's API documentation. */
export interface JsonShape<I> {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** Path segments after `{base_url}`. The codec percent-encodes them. */
  path(input: I): readonly string[];
  query?(input: I): readonly (readonly [name: string, value: string])[];
  body?(input: I): WireValue;
  /** Replaces the client's signature, for login and logout. */
  signature?(input: I): JsonSignature;
}

/** See “XML interface” in the service's API documentation. */
export interface XmlShape<I> {
  /** A string, so that `0502` keeps its zero. */
  readonly code: string;
  /** Elements after `code`. `keys` are the call's extra record keys. */
  elements(input: I, keys: readonly string[]): WireObject;
  readonly takesKeys?: boolean;
  /** Replaces the client's signature, for session tasks. */
  signature?(input: I, credential: Credential): XmlSignature;
}

export interface ServiceResponse {
  readonly envelope: Envelope;
  readonly setCookieHeaders: readonly string[];
}

export interface TaskResult<O> {
  readonly output: O;
  /** Secrets found in the response, to mask in the envelope. */
  readonly secrets?: readonly string[];
  /** Replaces the response's envelope, if masking `secrets` isn't enough. */
  readonly envelope?: Envelope;
}

export const returnNothing = (): TaskResult<undefined> => ({ output: undefined });

/** The parts of a task needed to send a described request and parse its response. */
export interface SendableTask<O> {
  /** For example `domain.renew`. */
  readonly name: string;
  readonly effect: Effect;
  /** The documented success code. If undefined, any success code is accepted. */
  readonly successCode?: string | undefined;
  /** Whether an output such as a session proves success. Any code is then accepted, except another task's. */
  readonly outputProvesSuccess?: boolean;
  /**
   * Whether the output consists of secrets in the response. The task then gets the unmasked response, because
   * masking could damage a secret, and must not return it unmasked.
   */
  readonly readsSecrets?: boolean;
  parseOutput(response: ServiceResponse): TaskResult<O>;
}

export interface ServiceTask<I, O> extends SendableTask<O> {
  readonly idempotent: boolean;
  /** The activity for error messages, such as `renewing cafe.rest`. Never contains a secret. */
  describeActivity(input: I): string;
  readonly json?: JsonShape<I>;
  readonly xml?: XmlShape<I>;
  readonly input: z.ZodType<I>;
}

/** Properties of a task that don't depend on its input. */
export type TaskOutline = Pick<ServiceTask<never, unknown>, 'name' | 'effect' | 'idempotent'> & {
  readonly json?: object;
  readonly xml?: object;
};

/**
 * Reads are idempotent by default. The success code of a task with an XML shape is `S` and the task code. See
 * “Errors” in the service's API documentation.
 */
export function defineTask<I, O>(
  task: Omit<ServiceTask<I, O>, 'idempotent'> & { readonly idempotent?: boolean },
): ServiceTask<I, O> {
  const successCode = task.successCode ?? (task.xml === undefined ? undefined : `S${task.xml.code}`);
  return { ...task, idempotent: task.idempotent ?? task.effect === 'read', successCode };
}

/** A task's request as data, without URL, signature and general parameters. */
export type RequestDescription =
  | {
      readonly interface: 'json';
      readonly method: JsonShape<never>['method'];
      /** Follows `{base_url}`. Percent-encoded. */
      readonly path: string;
      /** Parameters specific to this route, in order. */
      readonly query?: readonly (readonly [name: string, value: string])[];
      readonly body?: WireValue;
    }
  | {
      readonly interface: 'xml';
      readonly code: string;
      /** The elements after `code`. */
      readonly element: WireObject;
    };
