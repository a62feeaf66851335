import { Secret } from '../secret.ts';
import type { Interface } from '../task.ts';
import { InvalidInputError } from './codec-errors.ts';
import type { WireObject } from './wire.ts';

/**
 * Field names of the service's objects in each interface. Inputs use the JSON names. Lists are in the documented order.
 * A field that is missing from an interface's list isn't documented for it (service API, Resources and their fields).
 */
interface WireField {
  readonly field: string;
  /** Name in the interface, if different. */
  readonly wireName?: string;
  /** Documented values: from the input's to the interface's. */
  readonly values?: Readonly<Record<string, string>>;
  readonly join?: string;
  readonly inside?: readonly WireField[];
  /** Always sent with this value, regardless of the input. */
  readonly constant?: string;
}

export type ObjectFields = Readonly<Record<Interface, readonly WireField[]>>;

const toFields = (...fields: readonly string[]): readonly WireField[] => fields.map((field) => ({ field }));

export const USER_FIELDS: ObjectFields = {
  json: [
    ...toFields('user', 'context', 'defaultEmail', 'password', 'status', 'substatus', 'language'),
    {
      field: 'parent',
      inside: [
        ...toFields('context', 'defaultEmail', 'status', 'substatus'),
        { field: 'authType', constant: 'PASSWORD' },
        { field: 'lock', constant: 'NONE' },
        ...toFields('user'),
      ],
    },
  ],
  xml: [
    ...toFields('user', 'context'),
    { field: 'defaultEmail', wireName: 'default_mail' },
    ...toFields('password', 'status', 'substatus', 'language'),
    { field: 'parent', wireName: 'owner', inside: toFields('user', 'context') },
    { field: 'userMailKey', wireName: 'user_mail_key' },
  ],
};

export const REDIRECT_FIELDS: ObjectFields = {
  json: [
    ...toFields('source', 'target'),
    { field: 'type', values: { DOMAIN: 'DOMAIN', domain: 'DOMAIN' } },
    { field: 'mode', values: { HTTP: 'HTTP' } },
  ],
  xml: [
    { field: 'type', values: { DOMAIN: 'domain', domain: 'domain', email: 'email' } },
    { field: 'mode', values: { frame: 'frame', single: 'single' } },
    ...toFields('title', 'source', 'target', 'backup'),
  ],
};

const LAST_CONTACT_FIELDS = toFields('city', 'country', 'state', 'phone', 'fax', 'email');

export const SSL_CONTACT_FIELDS: ObjectFields = {
  json: [...toFields('fname', 'lname', 'title', 'organization', 'address', 'pcode'), ...LAST_CONTACT_FIELDS],
  xml: [
    ...toFields('id', 'title', 'organization'),
    { field: 'address', join: ',' },
    { field: 'pcode', wireName: 'postal_code' },
    ...LAST_CONTACT_FIELDS,
  ],
};

/** XML field names of a preregistration that differ from JSON. */
export const RECORD_NAMES = [
  ['order_reference', 'orderReference'],
  ['prereg_config', 'preregConfig'],
  ['nserver', 'nameServers'],
] as const;

export type FieldValue = string | number | boolean | Secret | readonly string[];
export interface FieldValues {
  readonly [field: string]: FieldValue | FieldValues | undefined;
}

/** @throws {InvalidInputError} for a field or value that the interface doesn't document */
export function toWireFields(via: Interface, fields: ObjectFields, values: FieldValues): WireObject {
  const toObject = (list: readonly WireField[], from: FieldValues, path: string): WireObject =>
    Object.fromEntries(
      listFieldsToSend(list, via, from, path).map(({ name, value, inside, at }) => [
        name,
        isFieldValues(value) && inside.length > 0 ? toObject(inside, value, at) : value,
      ]),
    );
  return toObject(fields[via], values, '');
}

interface FieldToSend {
  readonly name: string;
  readonly value: FieldValue | FieldValues;
  readonly inside: readonly WireField[];
  /** For messages. */
  readonly at: string;
}

function listFieldsToSend(
  fields: readonly WireField[],
  via: Interface,
  values: FieldValues,
  path: string,
): FieldToSend[] {
  const interfaceName = via.toUpperCase();
  const known = new Set(fields.map(({ field }) => field));
  for (const [field, value] of Object.entries(values)) {
    if (value !== undefined && !known.has(field)) {
      throw new InvalidInputError(
        `"${path}${field}" cannot be sent: the ${interfaceName} interface has no such field`,
        { code: 'field_not_documented', field: `${path}${field}`, interface: via },
      );
    }
  }
  return fields.flatMap((field): FieldToSend[] => {
    const value = field.constant ?? values[field.field];
    if (value === undefined) return [];
    const name = field.wireName ?? field.field;
    const at = `${path}${field.field}.`;
    if (field.values !== undefined) {
      const wireValue = new Map(Object.entries(field.values)).get(String(value));
      if (wireValue === undefined) {
        const documented = [...new Set(Object.values(field.values))];
        throw new InvalidInputError(
          `"${path}${field.field}" has a value that the ${interfaceName} interface does not document; ` +
            `it documents ${documented.join(', ')}`,
          { code: 'value_not_documented', field: `${path}${field.field}`, interface: via, documented },
        );
      }
      return [{ name, value: wireValue, inside: [], at }];
    }
    const joined = field.join !== undefined && isList(value) ? value.join(field.join) : value;
    return [{ name, value: joined, inside: field.inside ?? [], at }];
  });
}

function isList(value: FieldValue | FieldValues): value is readonly string[] {
  return Array.isArray(value);
}

function isFieldValues(value: FieldValue | FieldValues): value is FieldValues {
  return typeof value === 'object' && !isList(value) && !(value instanceof Secret);
}
