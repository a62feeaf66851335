import { z } from 'zod';
import { findTask } from '../../orders/tasks.ts';
import type { AvailableInterfaces } from '../../service/interfaces.ts';
import type { Feature } from '../feature.ts';
import { type FormValues, textField, unvalidatedLinesSchema } from '../kit/form.ts';
import { openFormFromCommand } from '../open-form.ts';
import { noContactIdText } from './asking.view.ts';
import { orderForm } from './order-form.ts';

/** Only the JSON interface documents the names of a person (service API, SSL contact). */
const PERSON = { fname: textField('First name'), lname: textField('Last name') };

/** XML takes the address as one text. How lines are joined and where the id goes isn't documented. */
function buildFields({ json }: AvailableInterfaces): z.ZodObject {
  return z.object({
    id: textField('SSL contact ID', {
      hint: `Empty fields aren’t sent. The service’s documentation doesn’t say whether it then keeps the old values${json ? '' : ', or where the ID goes in XML. I send the ID first'}.`,
      isRequired: true,
    }),
    ...(json ? PERSON : {}),
    title: textField('Title'),
    organization: textField('Organization'),
    address: textField(
      'Address',
      {
        kind: 'lines',
        hint: `Street and number, one per line.${json ? '' : ' In XML, I join the lines with commas, because the format isn’t documented.'}`,
      },
      unvalidatedLinesSchema,
    ),
    pcode: textField('Postal code'),
    city: textField('City'),
    country: textField('Country', { placeholder: 'DE' }),
    state: textField('State'),
    phone: textField('Phone', { placeholder: '+49-30-5550100' }),
    fax: textField('Fax'),
    email: textField('Email', { kind: 'email' }),
  });
}

/** Reuses the last values only for the same contact, because another id is another person. */
function reuseContact(last: FormValues, values: FormValues): FormValues {
  return values['id'] === undefined || values['id'] === last['id'] ? last : {};
}

export const sslContactForm = orderForm({
  task: 'ssl-contact',
  fields: buildFields,
  interfaces: {
    choiceHint: 'JSON is the default. XML has a single address field and no first or last name.',
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
        return openFormFromCommand(call, sslContactForm, id === undefined ? {} : { id });
      },
    },
  ],
  forms: [sslContactForm],
} as const satisfies Feature;
