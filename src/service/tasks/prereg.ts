import { z } from 'zod';
import { InvalidInputError } from '../codec/codec-errors.ts';
import { RECORD_NAMES } from '../codec/object-fields.ts';
import { isRecord } from '../record.ts';
import { defineTask, type Interface, type Reading } from '../task.ts';

/** What else the service says of a user, a contact or a nameserver stays beside what is documented. */
type Undocumented = Readonly<Record<string, unknown>>;

export type UserReference = Undocumented & {
  readonly user?: string | undefined;
  readonly context?: number | undefined;
};

export type ContactReference = Undocumented & {
  readonly id?: number | undefined;
};

export type NameServerReference = Undocumented & {
  readonly name: string;
};

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
  readonly nameServers?: readonly NameServerReference[] | undefined;
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

/** The filters of a search, in the document's sequence. */
export const PREREG_FILTERS = [
  'sld',
  'tld',
  'subtld',
  'id',
  'prereg_config.confirmation_start',
  'prereg_config.confirmation_end',
  'prereg_config.period_start',
  'prereg_config.period_end',
] as const;

/** The operator that each interface documents. */
const OPERATOR: Readonly<Record<Interface, 'EQUAL' | 'like'>> = { json: 'EQUAL', xml: 'like' };

function operator(via: Interface, given: 'EQUAL' | 'like' | undefined): string {
  if (given !== undefined && given !== OPERATOR[via]) {
    throw new InvalidInputError(
      `the ${via.toUpperCase()} interface documents the operator ${OPERATOR[via]}, not ${given}`,
      { code: 'value_not_documented', field: 'operator', interface: via, documented: [OPERATOR[via]] },
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
          key: z.enum(PREREG_FILTERS),
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
      if (order !== undefined) {
        throw new InvalidInputError('"order" cannot be sent: the JSON interface has no such field', {
          code: 'field_not_documented',
          field: 'order',
          interface: 'json',
        });
      }
      return {
        view: view && { children: view.children, offset: view.offset, limit: view.limit },
        filters: filters?.map(({ key, operator: given, value }) => ({
          key,
          operator: operator('json', given),
          value,
        })),
      };
    },
  },
  xml: {
    code: '0110005',
    takesKeys: true,
    elements: ({ view, filters, order }, keys) => ({
      view: view && { children: view.children, offset: view.offset, limit: view.limit },
      where:
        filters === undefined || filters.length === 0
          ? undefined
          : {
              and: filters.map((filter) => ({
                key: filter.key,
                operator: operator('xml', filter.operator),
                value: filter.value,
              })),
            },
      key: keys,
      order: order && { key: order.key, mode: order.mode },
    }),
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

const FIELDS = [
  ...(['name', 'created', 'updated', 'owner', 'ownerc', 'zonec', 'adminc', 'techc'] as const),
  ...(['nameServers', 'status', 'phase', 'orderReference', 'preregConfig', 'recommended'] as const),
];

/** The fields by the names that the interfaces give them. */
const FIELD_OF = new Map<string, (typeof FIELDS)[number]>([
  ...FIELDS.map((field) => [field, field] as const),
  ...RECORD_NAMES,
]);

type Wire = Readonly<Record<string, unknown>>;

/** Takes from a record what is well formed; the rest is kept in `more` rather than lost. */
function readRecord(wire: Wire): Preregistration {
  const record = {
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
  const more = Object.entries(wire).flatMap(([wireName, value]) => {
    const field = FIELD_OF.get(wireName);
    const isTaken = field !== undefined && record[field] !== undefined;
    return isTaken || wireName === '__proto__' ? [] : [[field ?? wireName, value] as const];
  });
  return { ...record, more: Object.fromEntries(more) };
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
  return { ...value, user: text(value['user']), context: integer(value['context']) };
}

function contactReference(value: unknown): ContactReference | undefined {
  const id = integer(isRecord(value) ? value['id'] : value);
  if (id === undefined) return undefined;
  return isRecord(value) ? { ...value, id } : { id };
}

function nameServers(value: unknown): readonly NameServerReference[] | undefined {
  if (!Array.isArray(value)) return undefined;
  const servers: NameServerReference[] = [];
  for (const each of value) {
    const name = text(isRecord(each) ? each['name'] : each);
    if (name === undefined) return undefined;
    servers.push(isRecord(each) ? { ...each, name } : { name });
  }
  return servers;
}

const textsByName = z.record(z.string(), z.string());

function texts(value: unknown): Readonly<Record<string, string>> | undefined {
  return textsByName.safeParse(value).data;
}
