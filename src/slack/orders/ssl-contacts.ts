import { z } from 'zod';
import { findTask } from '../../orders/tasks.ts';
import type { AvailableInterfaces } from '../../service/interfaces.ts';
import type { Feature } from '../feature.ts';
import { type FormValues, TYPED_LINES, typedField } from '../kit/form.ts';
import { openFromLine } from '../open-form.ts';
import { noContactIdText } from './asking.view.ts';
import { orderForm } from './order-form.ts';

/** Only the JSON interface documents a person's names (service API, SSL contact). */
const PERSON = { fname: typedField('First name'), lname: typedField('Last name') };

/** XML takes the address as one text. Line joining and the id's place aren't documented. */
function buildFields({ json }: AvailableInterfaces): z.ZodObject {
  return z.object({
    id: typedField('SSL contact id', {
      hint: `Empty fields aren’t sent; the document doesn’t say whether the service then keeps its values.${json ? '' : ' Over XML the position of the id isn’t documented: it’s sent first in the contact.'}`,
      isNeeded: true,
    }),
    ...(json ? PERSON : {}),
    title: typedField('Title'),
    organization: typedField('Organization'),
    address: typedField(
      'Address',
      {
        kind: 'lines',
        hint: `Street and number, one per line.${json ? '' : ' Over XML they’re sent as one text, joined by commas, because the format isn’t documented.'}`,
      },
      TYPED_LINES,
    ),
    pcode: typedField('Postal code'),
    city: typedField('City'),
    country: typedField('Country', { placeholder: 'DE' }),
    state: typedField('State'),
    phone: typedField('Phone', { placeholder: '+49-30-5550100' }),
    fax: typedField('Fax'),
    email: typedField('Email', { kind: 'email' }),
  });
}

/** Reuses the last values only for the same contact; another id is another person. */
function reuseContact(last: FormValues, given: FormValues): FormValues {
  return given['id'] === undefined || given['id'] === last['id'] ? last : {};
}

export const sslContactForm = orderForm({
  task: 'ssl-contact',
  fields: buildFields,
  interfaces: {
    choice: 'Default: JSON. XML takes the address as one text and has no first and last name.',
  },
  reuseValues: reuseContact,
});

export const sslContacts = {
  commands: [
    {
      usage: 'ssl-contact [ID]',
      summary: findTask('ssl-contact').words.summary,
      example: '/domain ssl-contact 501',
      time: 'taken',
      run: (call) => {
        const [id, ...more] = call.words;
        if (more.length > 0) return call.respond(noContactIdText(call.words.join(' ')));
        return openFromLine(call, sslContactForm, id === undefined ? {} : { id });
      },
    },
  ],
  forms: [sslContactForm],
} as const satisfies Feature;
