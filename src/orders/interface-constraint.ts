import type { Interface } from '../service/task.ts';

export const INTERFACE_CONSTRAINT_KINDS = [
  'backup',
  'choice_json',
  'choice_xml',
  'email_redirect',
  'first_name',
  'last_name',
  'mail_key',
  'mode_HTTP',
  'mode_frame',
  'mode_single',
  'superior_email',
  'superior_status',
  'superior_substatus',
  'title',
] as const;

/** A field or value that only one interface documents. It decides which interface is used. */
export interface InterfaceConstraint {
  readonly field: string;
  readonly kind: (typeof INTERFACE_CONSTRAINT_KINDS)[number];
}

/** The constraints that require each interface. If both lists are empty, either interface will do. */
export type InterfaceConstraints = Readonly<Record<Interface, readonly InterfaceConstraint[]>>;
