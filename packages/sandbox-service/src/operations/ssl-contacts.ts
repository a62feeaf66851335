import { Refusal } from '../refusal.ts';
import { looksLikeEmail } from '../rules.ts';
import type { Caller, ServiceState } from './caller.ts';

export type SslContactFields = Readonly<Record<string, string | readonly string[] | undefined>>;

/** Changes the given fields (“SSL contact update” in the service's API documentation). */
export function updateSslContact(
  service: ServiceState,
  caller: Caller,
  id: string,
  fields: SslContactFields,
): void {
  const contact = service.state.data.sslContacts.find(
    (candidate) =>
      String(candidate.id) === id && candidate.context === caller.context && candidate.group === caller.group,
  );
  if (contact === undefined)
    throw new Refusal('not_found', `id: there is no SSL contact ${id} in this account`);
  if (Object.keys(fields).length === 0) throw new Refusal('malformed', 'no field of the contact is given');
  checkFormat(fields, 'country', /^[A-Z]{2}$/, 'a two-letter code in upper case');
  checkFormat(
    fields,
    'phone',
    /^\+[1-9][0-9 ().-]{4,24}$/,
    'a number in international format, such as +49-30-5550100',
  );
  const { email } = fields;
  if (typeof email === 'string' && !looksLikeEmail(email)) {
    throw new Refusal('contact', 'email: not an e-mail address');
  }
  const updatedFields = { ...contact.fields };
  for (const [field, value] of Object.entries(fields)) {
    if (value !== undefined) updatedFields[field] = typeof value === 'string' ? value : [...value];
  }
  contact.fields = updatedFields;
  service.state.markChanged();
}

function checkFormat(fields: SslContactFields, field: string, format: RegExp, requirement: string): void {
  const value = fields[field];
  if (typeof value === 'string' && !format.test(value))
    throw new Refusal('contact', `${field}: ${requirement}`);
}
