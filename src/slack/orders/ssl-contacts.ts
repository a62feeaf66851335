import { z } from 'zod';
import { findTask } from '../../orders/tasks.ts';
import type { AvailableInterfaces } from '../../service/interfaces.ts';
import type { Feature } from '../feature.ts';
import { type FormValues, textField, unvalidatedLinesSchema } from '../kit/form.ts';
import { openFormFromCommand } from '../open-form.ts';
import { noContactIdText } from './asking.view.ts';
import { orderForm } from './order-form.ts';

/** See “SSL contact” in the service's API documentation: XML has no fields for a person's name. */
const PERSON_NAME_FIELDS = { fname: textField('First name'), lname: textField('Last name') };

function buildFieldsSchema({ json }: AvailableInterfaces): z.ZodObject {
  return z.object({
    id: textField('SSL contact ID', {
      hint: `Fields that you leave empty aren’t sent. The service’s documentation doesn’t say whether their old values are kept.${json ? '' : ' It also doesn’t say where the ID goes in XML, so I put it first.'}`,
      isRequired: true,
    }),
    ...(json ? PERSON_NAME_FIELDS : {}),
    title: textField('Title'),
    organization: textField('Organization'),
    address: textField(
      'Address',
      {
        kind: 'lines',
        hint: `The street address. It can have several lines.${json ? '' : ' In XML, I join the lines with commas, because the format isn’t documented.'}`,
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

/** Another id is another person, so its values aren't reused. */
function reuseContact(last: FormValues, values: FormValues): FormValues {
  return values['id'] === undefined || values['id'] === last['id'] ? last : {};
}

export const sslContactForm = orderForm({
  task: 'ssl-contact',
  fields: buildFieldsSchema,
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
      time: 'accepted',
      run: (call) => {
        const [id, ...more] = call.words;
        if (more.length > 0) return call.respond(noContactIdText(call.words.join(' ')));
        return openFormFromCommand(call, sslContactForm, id === undefined ? {} : { id });
      },
    },
  ],
  forms: [sslContactForm],
} as const satisfies Feature;
