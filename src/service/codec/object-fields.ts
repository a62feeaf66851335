import { Secret } from '../secret.ts';
import type { Interface } from '../task.ts';
import { InvalidInputError } from './codec-errors.ts';
import type { WireObject } from './wire.ts';

interface WireField {
  /** Name in inputs and in JSON. */
  readonly name: string;
  /** Name that the interface uses instead of `name`. */
  readonly wireName?: string;
  /** Maps each accepted input value to the value that the interface documents. */
  readonly valueMap?: Readonly<Record<string, string>>;
  /** Joins a list into one string. */
  readonly separator?: string;
  readonly subfields?: readonly WireField[];
  /** Always sent with this value, regardless of the input. */
  readonly constant?: string;
}

/**
 * The fields that each interface documents for an object, in the documented order. See “Resources and their
 * fields” in the service's API documentation.
 */
export type ObjectFields = Readonly<Record<Interface, readonly WireField[]>>;

const toFields = (...fields: readonly string[]): readonly WireField[] => fields.map((name) => ({ name }));

export const USER_FIELDS: ObjectFields = {
  json: [
    ...toFields('user', 'context', 'defaultEmail', 'password', 'status', 'substatus', 'language'),
    {
      name: 'parent',
      subfields: [
        ...toFields('context', 'defaultEmail', 'status', 'substatus'),
        { name: 'authType', constant: 'PASSWORD' },
        { name: 'lock', constant: 'NONE' },
        ...toFields('user'),
      ],
    },
  ],
  xml: [
    ...toFields('user', 'context'),
    { name: 'defaultEmail', wireName: 'default_mail' },
    ...toFields('password', 'status', 'substatus', 'language'),
    { name: 'parent', wireName: 'owner', subfields: toFields('user', 'context') },
    { name: 'userMailKey', wireName: 'user_mail_key' },
  ],
};

export const REDIRECT_FIELDS: ObjectFields = {
  json: [
    ...toFields('source', 'target'),
    { name: 'type', valueMap: { DOMAIN: 'DOMAIN', domain: 'DOMAIN' } },
    { name: 'mode', valueMap: { HTTP: 'HTTP' } },
  ],
  xml: [
    { name: 'type', valueMap: { DOMAIN: 'domain', domain: 'domain', email: 'email' } },
    { name: 'mode', valueMap: { frame: 'frame', single: 'single' } },
    ...toFields('title', 'source', 'target', 'backup'),
  ],
};

const TRAILING_CONTACT_FIELDS = toFields('city', 'country', 'state', 'phone', 'fax', 'email');

export const SSL_CONTACT_FIELDS: ObjectFields = {
  json: [
    ...toFields('fname', 'lname', 'title', 'organization', 'address', 'pcode'),
    ...TRAILING_CONTACT_FIELDS,
  ],
  xml: [
    ...toFields('id', 'title', 'organization'),
    { name: 'address', separator: ',' },
    { name: 'pcode', wireName: 'postal_code' },
    ...TRAILING_CONTACT_FIELDS,
  ],
};

/** Preregistration fields with different names in XML (first) and JSON. */
export const PREREG_FIELD_NAMES = [
  ['order_reference', 'orderReference'],
  ['prereg_config', 'preregConfig'],
  ['nserver', 'nameServers'],
] as const;

export type FieldValue = string | number | boolean | Secret | readonly string[];
export interface FieldValues {
  readonly [field: string]: FieldValue | FieldValues | undefined;
}

/** @throws {InvalidInputError} for a field or value that the interface doesn't document */
export function toWireFields(
  targetInterface: Interface,
  objectFields: ObjectFields,
  input: FieldValues,
): WireObject {
  const toObject = (fields: readonly WireField[], values: FieldValues, path: string): WireObject =>
    Object.fromEntries(
      listFieldsToSend(fields, targetInterface, values, path).map(
        ({ name, value, subfields, subfieldPath }) => [
          name,
          isFieldValues(value) && subfields.length > 0 ? toObject(subfields, value, subfieldPath) : value,
        ],
      ),
    );
  return toObject(objectFields[targetInterface], input, '');
}

interface FieldToSend {
  readonly name: string;
  readonly value: FieldValue | FieldValues;
  readonly subfields: readonly WireField[];
  /** Prefix of the subfields' names in error messages. */
  readonly subfieldPath: string;
}

function listFieldsToSend(
  fields: readonly WireField[],
  targetInterface: Interface,
  values: FieldValues,
  path: string,
): FieldToSend[] {
  const interfaceName = targetInterface.toUpperCase();
  const documentedNames = new Set(fields.map(({ name }) => name));
  for (const [name, value] of Object.entries(values)) {
    if (value !== undefined && !documentedNames.has(name)) {
      throw new InvalidInputError(
        `"${path}${name}" cannot be sent: the ${interfaceName} interface has no such field`,
        { code: 'field_not_documented', field: `${path}${name}`, interface: targetInterface },
      );
    }
  }
  return fields.flatMap((field): FieldToSend[] => {
    const value = field.constant ?? values[field.name];
    if (value === undefined) return [];
    const name = field.wireName ?? field.name;
    const subfieldPath = `${path}${field.name}.`;
    if (field.valueMap !== undefined) {
      const wireValue = new Map(Object.entries(field.valueMap)).get(String(value));
      if (wireValue === undefined) {
        const documented = [...new Set(Object.values(field.valueMap))];
        const fieldPath = `${path}${field.name}`;
        throw new InvalidInputError(
          `"${fieldPath}" has a value that the ${interfaceName} interface does not accept; ` +
            `expected one of: ${documented.join(', ')}`,
          { code: 'value_not_documented', field: fieldPath, interface: targetInterface, documented },
        );
      }
      return [{ name, value: wireValue, subfields: [], subfieldPath }];
    }
    const sentValue = field.separator !== undefined && isList(value) ? value.join(field.separator) : value;
    return [{ name, value: sentValue, subfields: field.subfields ?? [], subfieldPath }];
  });
}

function isList(value: FieldValue | FieldValues): value is readonly string[] {
  return Array.isArray(value);
}

function isFieldValues(value: FieldValue | FieldValues): value is FieldValues {
  return typeof value === 'object' && !isList(value) && !(value instanceof Secret);
}
