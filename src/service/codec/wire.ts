import type { Secret } from '../secret.ts';

/**
 * A value of a JSON body or of an XML element; over XML a list is its element repeated. What is undefined is not sent. Secrets
 * are opened by the codecs only.
 */
export type WireValue = string | number | boolean | Secret | readonly WireValue[] | WireObject;

export function isWireList(value: WireValue): value is readonly WireValue[] {
  return Array.isArray(value);
}

export interface WireObject {
  /** In the order in which the fields go out. */
  readonly [name: string]: WireValue | undefined;
}
