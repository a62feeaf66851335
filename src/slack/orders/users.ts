import { z } from 'zod';
import { getOrderTask } from '../../orders/tasks.ts';
import type { AvailableInterfaces } from '../../service/interfaces.ts';
import type { Feature } from '../feature.ts';
import { type FieldDisplay, textField } from '../kit/form.ts';
import { openFormFromCommand } from '../open-form.ts';
import { createRefreshAction } from '../refresh-form.ts';
import { createOrderForm, parseSecret } from './order-form.ts';
import { sslContactForm } from './ssl-contacts.ts';

const numberField = (label: string, display: Partial<FieldDisplay> = {}) =>
  textField(label, { kind: 'number', ...display });

const USER_FIELDS = {
  user: textField('User name', { isRequired: true }),
  context: numberField('Context', { isRequired: true }),
  defaultEmail: textField('Email', { kind: 'email', isRequired: true }),
  password: textField('Password', {
    kind: 'secret',
    hint: 'Leave empty to have the service generate one. I’ll show it to you once.',
  }),
  language: textField('Language', { placeholder: 'en' }),
  status: numberField('Status'),
  substatus: numberField('Substatus'),
  parent_user: textField('Parent user', { hint: 'Only needed if the new user belongs to a sub-user.' }),
  parent_context: numberField('Parent user’s context'),
};

/** JSON accepts more fields of the parent user than XML. */
const JSON_PARENT_FIELDS = {
  parent_defaultEmail: textField('Parent user’s email', { kind: 'email' }),
  parent_status: numberField('Parent user’s status'),
  parent_substatus: numberField('Parent user’s substatus'),
};

/** The service's documentation says only that the mail key is optional and adds a notice to the response. */
const MAIL_KEY_FIELDS = {
  user_mail_key: textField('Mail key', {
    hint: 'The service’s documentation doesn’t say what it does or where it goes in the request, so I send it last.',
  }),
};

function buildFieldsSchema({ json, xml }: AvailableInterfaces): z.ZodObject {
  return z.object({ ...USER_FIELDS, ...(json ? JSON_PARENT_FIELDS : {}), ...(xml ? MAIL_KEY_FIELDS : {}) });
}

const PARENT_PREFIX = /^parent_/;

function toUserInput(values: Readonly<Record<string, unknown>>) {
  const entries = Object.entries(values);
  const ownEntries = entries.filter(([name]) => !PARENT_PREFIX.test(name));
  const parentEntries = entries
    .filter(([name]) => PARENT_PREFIX.test(name))
    .map(([name, value]) => [name.replace(PARENT_PREFIX, ''), value]);
  return Object.fromEntries([
    ...ownEntries,
    ...(parentEntries.length === 0 ? [] : [['parent', Object.fromEntries(parentEntries)]]),
  ]);
}

export const userForm = createOrderForm({
  task: 'user',
  fields: buildFieldsSchema,
  interfaces: {
    xmlFeatures: 'Orders with a mail key',
    choiceHint:
      'JSON is the default. In XML, the parent user is called the owner and has only a name and a context.',
  },
  toInput: toUserInput,
  defaults: (account) => (account?.context === undefined ? {} : { context: String(account.context) }),
  secretField: { name: 'password', parse: parseSecret },
});

export const users = {
  commands: [
    {
      usage: 'user',
      summary: getOrderTask('user').words.summary,
      example: '/domain user',
      time: 'accepted',
      run: (call) => openFormFromCommand(call, userForm, {}, { words: call.words, usedCount: 0 }),
    },
  ],
  forms: [userForm],
  actions: [createRefreshAction('interface', userForm, sslContactForm)],
} as const satisfies Feature;
