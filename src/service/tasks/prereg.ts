import { z } from 'zod';
import { InvalidInputError } from '../codec/codec-errors.ts';
import { PREREG_FIELD_NAMES } from '../codec/object-fields.ts';
import { isRecord } from '../record.ts';
import { defineTask, type Interface, type TaskResult } from '../task.ts';

/** A domain preregistration from the service, with the JSON field names for both interfaces. */
export type Preregistration = Readonly<Record<string, unknown>>;

export interface Preregistrations {
  /** Total number of matching records. */
  readonly summary?: number;
  readonly records: readonly Preregistration[];
}

/** In the documented order. */
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

const FILTER_OPERATORS: Readonly<Record<Interface, string>> = { json: 'EQUAL', xml: 'like' };

/**
 * See “Preregistration search” in the service's API documentation. All filters must match, with the operator
 * documented for the interface. `view` selects a page: `offset` starts at 0, `limit` is the number of
 * records. The call's `keys` (`tmch_mark`, `extension`, `nsentry`) add data to the records.
 */
export const preregSearch = defineTask({
  name: 'prereg.search',
  effect: 'read',
  describeActivity: () => 'searching preregistrations',
  input: z.strictObject({
    view: z
      .strictObject({
        children: z.boolean().optional(),
        offset: z.int().nonnegative().optional(),
        limit: z.int().positive().optional(),
      })
      .optional(),
    filters: z
      .array(z.strictObject({ key: z.enum(PREREG_FILTERS), value: z.union([z.string(), z.number()]) }))
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
        filters: filters?.map(({ key, value }) => ({ key, operator: FILTER_OPERATORS.json, value })),
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
          : { and: filters.map(({ key, value }) => ({ key, operator: FILTER_OPERATORS.xml, value })) },
      key: keys,
      order: order && { key: order.key, mode: order.mode },
    }),
  },
  parseOutput: ({ envelope }): TaskResult<Preregistrations> => {
    const summary = envelope.object?.summary;
    return {
      output: {
        ...(summary === undefined ? {} : { summary }),
        records: envelope.data.filter(isRecord).map(renameFieldsToJson),
      },
    };
  },
});

const JSON_FIELD_NAMES = new Map<string, string>(PREREG_FIELD_NAMES);

function renameFieldsToJson(record: Preregistration): Preregistration {
  return Object.fromEntries(
    Object.entries(record).map(([name, value]) => [JSON_FIELD_NAMES.get(name) ?? name, value]),
  );
}
