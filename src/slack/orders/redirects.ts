import { z } from 'zod';
import { getOrderTask } from '../../orders/tasks.ts';
import type { AvailableInterfaces } from '../../service/interfaces.ts';
import type { Feature } from '../feature.ts';
import {
  choiceField,
  type FieldDisplay,
  type FormValues,
  field,
  textField,
  unvalidatedTextSchema,
} from '../kit/form.ts';
import { openFormFromCommand } from '../open-form.ts';
import { createRefreshAction } from '../refresh-form.ts';
import { createOrderForm, pick } from './order-form.ts';

const sourceField = textField('Source', {
  placeholder: 'www.cafe.rest',
  hint: 'The address of an existing redirect. Neither it nor its type can be changed. I remove a leading http:// and send a path as it is.',
  isRequired: true,
});
const TARGET_DISPLAY: FieldDisplay = {
  label: 'Target',
  kind: 'text',
  placeholder: 'https://www.example.com/menu',
  hint: 'A web address or a host name.',
  isRequired: true,
};

/** The chosen type and mode determine the interface, and therefore the fields. */
const CHOICE_DISPLAY = { refreshesForm: true, isRequired: true };

/** Offers all types and modes that the service's API documentation lists under “Redirect”. */
function buildFieldsSchema({ json, xml }: AvailableInterfaces): z.ZodObject {
  const sharedSchema = z.object({
    source: sourceField,
    target: field(
      xml
        ? {
            ...TARGET_DISPLAY,
            hint: 'A web address or a host name. An email redirect needs an email address.',
          }
        : TARGET_DISPLAY,
      unvalidatedTextSchema,
    ),
    type: choiceField(
      'Type',
      {
        ...(json ? { DOMAIN: 'Domain (JSON)' } : {}),
        ...(xml ? { domain: 'Domain (XML)', email: 'Email (XML)' } : {}),
      },
      unvalidatedTextSchema,
      CHOICE_DISPLAY,
    ),
    mode: choiceField(
      'Mode',
      {
        ...(json ? { HTTP: 'HTTP (JSON)' } : {}),
        ...(xml ? { frame: 'Frame (XML)', single: 'Single (XML)' } : {}),
      },
      unvalidatedTextSchema,
      CHOICE_DISPLAY,
    ),
  });
  return xml
    ? sharedSchema.extend({
        title: textField('Title'),
        backup: textField('Backup target'),
      })
    : sharedSchema;
}

/** Titles and backup targets belong to a single source, but targets are often reused. */
function pickRedirectValues(lastValues: FormValues, values: FormValues): FormValues {
  const isSameSource = values['source'] === undefined || values['source'] === lastValues['source'];
  return pick(lastValues, ...(isSameSource ? ['source', 'title', 'backup'] : []), 'target', 'type', 'mode');
}

const redirectForm = createOrderForm({
  task: 'redirect',
  fields: buildFieldsSchema,
  interfaces: { xmlFeatures: 'Email redirects, frame and single mode, titles and backup targets' },
  defaults: (account) =>
    account?.method === 'two_factor' ? { type: 'domain' } : { type: 'DOMAIN', mode: 'HTTP' },
  reuseValues: pickRedirectValues,
});

export const redirects = {
  commands: [
    {
      usage: 'redirect [SOURCE]',
      summary: getOrderTask('redirect').words.summary,
      example: '/domain redirect www.cafe.rest',
      time: 'accepted',
      run: (call) => {
        const [source] = call.words;
        const values = source === undefined ? {} : { source };
        return openFormFromCommand(call, redirectForm, values, { words: call.words, usedCount: 1 });
      },
    },
  ],
  forms: [redirectForm],
  actions: [createRefreshAction('type', redirectForm), createRefreshAction('mode', redirectForm)],
} as const satisfies Feature;
