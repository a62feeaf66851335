import type { Secret } from '../secret.ts';

/**
 * A value in a JSON body or XML element. A list is sent in XML as one element per item. Undefined values
 * aren't sent. Only codecs reveal secrets.
 */
export type WireValue = string | number | boolean | Secret | readonly WireValue[] | WireObject;

export function isWireList(value: WireValue): value is readonly WireValue[] {
  return Array.isArray(value);
}

export interface WireObject {
  readonly [name: string]: WireValue | undefined;
}
