import { z } from 'zod';
import { getOrderTask } from '../../orders/tasks.ts';
import type { AvailableInterfaces } from '../../service/interfaces.ts';
import type { Feature } from '../feature.ts';
import { type FormValues, textField, unvalidatedLinesSchema } from '../kit/form.ts';
import { openFormFromCommand } from '../open-form.ts';
import { invalidContactIdText } from './asking.view.ts';
import { createOrderForm } from './order-form.ts';

/** See “SSL contact” in the service's API documentation: XML has no fields for a person's name. */
const PERSON_NAME_FIELDS = { fname: textField('First name'), lname: textField('Last name') };

function buildFieldsSchema({ json }: AvailableInterfaces): z.ZodObject {
  return z.object({
    id: textField('SSL contact ID', {
      hint: `Fields that you leave empty aren’t sent. The service’s documentation doesn’t say whether their old values are kept.${json ? '' : ' The ID’s position in XML isn’t documented either, so I put it first.'}`,
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

/** A different ID means a different person, so values are reused only for the same ID. */
function pickContactValues(lastValues: FormValues, values: FormValues): FormValues {
  return values['id'] === undefined || values['id'] === lastValues['id'] ? lastValues : {};
}

export const sslContactForm = createOrderForm({
  task: 'ssl-contact',
  fields: buildFieldsSchema,
  interfaces: {
    choiceHint: 'JSON is the default. XML has a single address field and no first or last name.',
  },
  reuseValues: pickContactValues,
});

export const sslContacts = {
  commands: [
    {
      usage: 'ssl-contact [ID]',
      summary: getOrderTask('ssl-contact').words.summary,
      example: '/domain ssl-contact 501',
      time: 'accepted',
      run: (call) => {
        const [id, ...extraWords] = call.words;
        if (extraWords.length > 0) return call.respond(invalidContactIdText(call.words.join(' ')));
        return openFormFromCommand(call, sslContactForm, id === undefined ? {} : { id });
      },
    },
  ],
  forms: [sslContactForm],
} as const satisfies Feature;
