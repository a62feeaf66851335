import { z } from 'zod';
import { InputFault } from '../errors.ts';
import { RECORD_NAMES } from '../fields.ts';
import { isRecord } from '../record.ts';
import { defineTask, type Interface, type Reading, type XmlElement } from '../task.ts';

export interface UserReference {
  readonly user?: string | undefined;
  readonly context?: number | undefined;
}

export interface ContactReference {
  readonly id?: number | undefined;
}

/** A domain preregistration, under the JSON names whichever interface answered. */
export interface Preregistration {
  readonly name?: string | undefined;
  /** Timestamps as the service writes them; XML has the form `YYYY-MM-DD hh:mm:ss`. */
  readonly created?: string | undefined;
  readonly updated?: string | undefined;
  readonly owner?: UserReference | undefined;
  readonly ownerc?: ContactReference | undefined;
  readonly zonec?: ContactReference | undefined;
  readonly adminc?: ContactReference | undefined;
  readonly techc?: ContactReference | undefined;
  readonly nameServers?: readonly { readonly name: string }[] | undefined;
  /** `PENDING` in the document's example. */
  readonly status?: string | undefined;
  /** `sunrise1` in the document's example. */
  readonly phase?: string | undefined;
  readonly orderReference?: string | undefined;
  /** `confirmation_start`, `confirmation_end`, `period_start`, `period_end`. */
  readonly preregConfig?: Readonly<Record<string, string>> | undefined;
  readonly recommended?: boolean | undefined;
  /** What else the record holds, e.g. the data asked for with `keys`, as it came. */
  readonly more: Readonly<Record<string, unknown>>;
}

export interface Preregistrations {
  /** How many records match in all. */
  readonly summary?: number;
  readonly records: readonly Preregistration[];
}

const filterKey = z.enum([
  'sld',
  'tld',
  'subtld',
  'id',
  'prereg_config.confirmation_start',
  'prereg_config.confirmation_end',
  'prereg_config.period_start',
  'prereg_config.period_end',
]);

/** The operator that each interface documents. */
const OPERATOR: Readonly<Record<Interface, 'EQUAL' | 'like'>> = { json: 'EQUAL', xml: 'like' };

function operator(via: Interface, given: 'EQUAL' | 'like' | undefined): string {
  if (given !== undefined && given !== OPERATOR[via]) {
    throw new InputFault(
      `the ${via.toUpperCase()} interface documents the operator ${OPERATOR[via]}, not ${given}`,
    );
  }
  return OPERATOR[via];
}

/**
 * Searches domain preregistrations. Service API, section "Preregistration search".
 *
 * Several filters all have to match. An `operator` that is left out is the one that the interface documents: `EQUAL`
 * over JSON, `like` over XML. `view` pages: `offset` from 0, `limit` records. `order` is documented for XML alone. The
 * call's `keys` (`tmch_mark`, `extension`, `nsentry`) add their data to the records.
 */
export const preregSearch = defineTask({
  name: 'prereg.search',
  effect: 'read',
  activity: () => 'searching preregistrations',
  input: z.strictObject({
    view: z
      .strictObject({
        children: z.boolean().optional(),
        offset: z.int().nonnegative().optional(),
        limit: z.int().positive().optional(),
      })
      .optional(),
    filters: z
      .array(
        z.strictObject({
          key: filterKey,
          operator: z.enum(['EQUAL', 'like']).optional(),
          value: z.union([z.string(), z.number()]),
        }),
      )
      .optional(),
    order: z.strictObject({ key: z.string().min(1), mode: z.literal('asc') }).optional(),
  }),
  json: {
    method: 'POST',
    path: () => ['domainPrereg', '_search'],
    body: ({ view, filters, order }) => {
      if (order !== undefined)
        throw new InputFault('"order" cannot be sent: the JSON interface has no such field');
      return {
        ...(view === undefined
          ? {}
          : { view: { children: view.children, offset: view.offset, limit: view.limit } }),
        ...(filters === undefined
          ? {}
          : {
              filters: filters.map((filter) => ({
                key: filter.key,
                operator: operator('json', filter.operator),
                value: filter.value,
              })),
            }),
      };
    },
  },
  xml: {
    code: '0110005',
    takesKeys: true,
    elements: ({ view, filters, order }, keys): readonly XmlElement[] => [
      ...(view === undefined
        ? []
        : [['view', presentElements(view, ['children', 'offset', 'limit'])] as const]),
      ...(filters === undefined || filters.length === 0
        ? []
        : [
            [
              'where',
              filters.map(
                (filter): XmlElement => [
                  'and',
                  [
                    ['key', filter.key],
                    ['operator', operator('xml', filter.operator)],
                    ['value', filter.value],
                  ],
                ],
              ),
            ] as const,
          ]),
      ...keys.map((key) => ['key', key] as const),
      ...(order === undefined ? [] : [['order', presentElements(order, ['key', 'mode'])] as const]),
    ],
  },
  output: ({ envelope }): Reading<Preregistrations> => {
    const summary = envelope.object?.summary;
    return {
      output: {
        ...(summary === undefined ? {} : { summary }),
        records: envelope.data.filter(isRecord).map(readRecord),
      },
    };
  },
});

function presentElements<K extends string>(
  values: { readonly [name in K]?: string | number | boolean | undefined },
  order: readonly K[],
): readonly XmlElement[] {
  return order.flatMap((name) => {
    const value = values[name];
    return value === undefined ? [] : [[name, value] as const];
  });
}

/** Takes from a record what is well formed; the rest is kept in `more` rather than lost. */
function readRecord(wire: Readonly<Record<string, unknown>>): Preregistration {
  const known = {
    name: text(wire['name']),
    created: text(wire['created']),
    updated: text(wire['updated']),
    owner: userReference(wire['owner']),
    ownerc: contactReference(wire['ownerc']),
    zonec: contactReference(wire['zonec']),
    adminc: contactReference(wire['adminc']),
    techc: contactReference(wire['techc']),
    nameServers: nameServers(wire['nameServers'] ?? wire['nserver']),
    status: text(wire['status']),
    phase: text(wire['phase']),
    orderReference: text(wire['orderReference'] ?? wire['order_reference']),
    preregConfig: texts(wire['preregConfig'] ?? wire['prereg_config']),
    recommended: flag(wire['recommended']),
  };
  const taken = new Map<string, unknown>(Object.entries(known));
  const more = Object.keys(wire).flatMap((wireName) => {
    const name = RECORD_NAMES.get(wireName) ?? wireName;
    return taken.get(name) === undefined ? [[name, wire[wireName]] as const] : [];
  });
  return { ...known, more: Object.fromEntries(more) };
}

function text(value: unknown): string | undefined {
  return typeof value === 'string' ? value : typeof value === 'number' ? String(value) : undefined;
}

function integer(value: unknown): number | undefined {
  const number = typeof value === 'string' && /^\d{1,15}$/.test(value) ? Number(value) : value;
  return Number.isSafeInteger(number) && typeof number === 'number' ? number : undefined;
}

const FLAGS = new Map([
  ['true', true],
  ['1', true],
  ['false', false],
  ['0', false],
]);

/** XML has no booleans, only their usual spellings. */
function flag(value: unknown): boolean | undefined {
  if (typeof value === 'boolean') return value;
  return typeof value === 'string' ? FLAGS.get(value) : undefined;
}

function userReference(value: unknown): UserReference | undefined {
  if (!isRecord(value)) return undefined;
  return { user: text(value['user']), context: integer(value['context']) };
}

function contactReference(value: unknown): ContactReference | undefined {
  const id = integer(isRecord(value) ? value['id'] : value);
  return id === undefined ? undefined : { id };
}

function nameServers(value: unknown): { readonly name: string }[] | undefined {
  if (!Array.isArray(value)) return undefined;
  const names = value.map((each) => text(isRecord(each) ? each['name'] : each));
  return names.every((each) => each !== undefined) ? names.map((name) => ({ name })) : undefined;
}

function texts(value: unknown): Record<string, string> | undefined {
  if (!isRecord(value)) return undefined;
  const entries = Object.keys(value).flatMap((name) => {
    const each = text(value[name]);
    return each === undefined ? [] : [[name, each] as const];
  });
  return Object.fromEntries(entries);
}
