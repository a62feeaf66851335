import { z } from 'zod';
import { findTask } from '../../orders/tasks.ts';
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
import { orderForm, pick } from './order-form.ts';

const sourceField = textField('Source', {
  placeholder: 'www.cafe.rest',
  hint: 'The source of an existing redirect. Its source and type can’t be changed. I remove a leading http:// and send a path unchanged.',
  isRequired: true,
});
const TARGET_DISPLAY: FieldDisplay = {
  label: 'Target',
  kind: 'text',
  placeholder: 'https://www.example.com/menu',
  hint: 'A web address or a host name.',
  isRequired: true,
};

/** The choice determines the interface, and with it the fields. */
const CHOICE_DISPLAY = { refreshesForm: true, isRequired: true };

/** Offers all types and modes in “Redirect” of the service's API documentation. */
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
function reuseRedirect(last: FormValues, values: FormValues): FormValues {
  const isSameSource = values['source'] === undefined || values['source'] === last['source'];
  return pick(last, ...(isSameSource ? ['source', 'title', 'backup'] : []), 'target', 'type', 'mode');
}

const redirectForm = orderForm({
  task: 'redirect',
  fields: buildFieldsSchema,
  interfaces: { xmlFeatures: 'Email redirects, frame and single mode, titles and backup targets' },
  defaults: (account) =>
    account?.method === 'two_factor' ? { type: 'domain' } : { type: 'DOMAIN', mode: 'HTTP' },
  reuseValues: reuseRedirect,
});

export const redirects = {
  commands: [
    {
      usage: 'redirect [SOURCE]',
      summary: findTask('redirect').words.summary,
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
