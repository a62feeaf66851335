import { taskNamed } from '../../orders/tasks.ts';
import type { AvailableInterfaces } from '../../service/interfaces.ts';
import { type Feature, linesOf, textsOf } from '../feature.ts';
import { code } from '../kit/blocks.ts';
import type { Field, FormValues } from '../kit/form.ts';
import { orderForm } from './order-form.ts';
import { openFromLine } from './ordering.ts';

/*
 * Contacts of SSL certificates.
 */

const ID: Field = {
  name: 'id',
  label: 'SSL contact',
  kind: 'number',
  hint: 'Its id at the service, taken for a whole number. What you leave empty below is not sent; the document does not say whether the service then keeps what it has.',
};

/** Only the JSON interface documents a person's names (service API, section "SSL contact"). */
const PERSON: readonly Field[] = [
  { name: 'fname', label: 'First name', kind: 'text', optional: true },
  { name: 'lname', label: 'Last name', kind: 'text', optional: true },
];

const SHARED: readonly Field[] = [
  { name: 'title', label: 'Title', kind: 'text', optional: true },
  { name: 'organization', label: 'Organization', kind: 'text', optional: true },
  {
    name: 'address',
    label: 'Address',
    kind: 'lines',
    optional: true,
    hint: 'Street and number, a line each.',
  },
  { name: 'pcode', label: 'Postal code', kind: 'text', optional: true },
  { name: 'city', label: 'City', kind: 'text', optional: true },
  { name: 'country', label: 'Country', kind: 'text', optional: true, placeholder: 'DE' },
  { name: 'state', label: 'State', kind: 'text', optional: true },
  { name: 'phone', label: 'Phone', kind: 'text', optional: true, placeholder: '+49-30-5550100' },
  { name: 'fax', label: 'Fax', kind: 'text', optional: true },
  { name: 'email', label: 'E-mail', kind: 'email', optional: true },
];

function fieldsFor({ json }: AvailableInterfaces): readonly Field[] {
  return json ? [ID, ...PERSON, ...SHARED] : [ID, ...SHARED].map(overXml);
}

/** XML takes the address as one text. How several lines become one, and where the id goes, is not documented. */
const XML_HINTS: Readonly<Record<string, string>> = {
  id: `${ID.hint} Over XML the document shows no place for the id: it goes first in the contact.`,
  address:
    'Street and number, a line each. Over XML they go out as one text, joined by commas: the document does not say how.',
};

function overXml(field: Field): Field {
  const hint = XML_HINTS[field.name];
  return hint === undefined ? field : { ...field, hint };
}

function contactInput(values: FormValues) {
  const address = linesOf(values, 'address');
  return {
    ...textsOf(values, ...[ID, ...PERSON, ...SHARED].map(({ name }) => name), 'interface'),
    address: address.length === 0 ? undefined : address,
  };
}

/** The last values are filled in for the same contact only; another id is another person. */
function recallContact(last: FormValues, given: FormValues): FormValues {
  return given['id'] === undefined || given['id'] === last['id'] ? last : {};
}

export const sslContactForm = orderForm({
  task: 'ssl-contact',
  fields: fieldsFor,
  interfaces: {
    choice: 'JSON when left empty. XML takes the address as one text and has no first and last name.',
  },
  input: contactInput,
  recalls: recallContact,
});

export const sslContacts: Feature = {
  commands: [
    {
      usage: 'ssl-contact [ID]',
      summary: taskNamed('ssl-contact').words.summary,
      example: '/domain ssl-contact 501',
      needs: 'account',
      run: (call) => {
        const [id] = call.words;
        if (id !== undefined && !/^\d{1,10}$/.test(id)) {
          return call.respond(
            `${code(id)} is no contact’s id. Give its number, such as \`/domain ssl-contact 501\`.`,
          );
        }
        return openFromLine(call, sslContactForm, id === undefined ? {} : { id });
      },
    },
  ],
  forms: [sslContactForm],
};
