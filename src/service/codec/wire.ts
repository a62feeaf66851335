import type { Secret } from '../secret.ts';

/** A value of a JSON body. Secrets are opened by the codec only. */
export type JsonValue =
  | string
  | number
  | boolean
  | Secret
  | readonly JsonValue[]
  | { readonly [name: string]: JsonValue | undefined };

/** An XML element: its name and its text or its children, in the order in which they go out. */
export type XmlElement = readonly [
  name: string,
  content: string | number | boolean | Secret | readonly XmlElement[],
];
