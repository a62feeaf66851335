import { taskNamed } from '../../orders/tasks.ts';
import type { AvailableInterfaces } from '../../service/interfaces.ts';
import { type Feature, textOf, textsOf } from '../feature.ts';
import type { Field, FormValues } from '../kit/form.ts';
import { refreshing } from '../refresh-form.ts';
import { orderForm, readSecret } from './order-form.ts';
import { openFromLine } from './ordering.ts';
import { sslContactForm } from './ssl-contacts.ts';

/*
 * Users and sub-users at the domain service.
 */

const USER_FIELDS: readonly Field[] = [
  { name: 'user', label: 'User name', kind: 'text' },
  { name: 'context', label: 'Context', kind: 'number' },
  { name: 'defaultEmail', label: 'E-mail', kind: 'email' },
  {
    name: 'password',
    label: 'Password',
    kind: 'secret',
    optional: true,
    hint: 'Empty: the service makes one, shown to you once.',
  },
  { name: 'language', label: 'Language', kind: 'text', optional: true, placeholder: 'en' },
  { name: 'status', label: 'Status', kind: 'number', optional: true },
  { name: 'substatus', label: 'Substatus', kind: 'number', optional: true },
  {
    name: 'parent_user',
    label: 'Superior user',
    kind: 'text',
    optional: true,
    hint: 'Only for a sub-user of a sub-user.',
  },
  { name: 'parent_context', label: 'Superior user’s context', kind: 'number', optional: true },
];

/** The JSON interface takes more fields of the superior user than XML. */
const JSON_PARENT_FIELDS: readonly Field[] = [
  { name: 'parent_defaultEmail', label: 'Superior user’s e-mail', kind: 'email', optional: true },
  { name: 'parent_status', label: 'Superior user’s status', kind: 'number', optional: true },
  { name: 'parent_substatus', label: 'Superior user’s substatus', kind: 'number', optional: true },
];

/** The document only shows that it may be given, and that a notice about the user answers it. */
const MAIL_KEY: Field = {
  name: 'user_mail_key',
  label: 'Mail key (user_mail_key)',
  kind: 'text',
  optional: true,
  hint: 'What the service does with it is not documented; it answers with a notice about the user.',
};

function fieldsFor({ json, xml }: AvailableInterfaces): readonly Field[] {
  return [...USER_FIELDS, ...(json ? JSON_PARENT_FIELDS : []), ...(xml ? [MAIL_KEY] : [])];
}

function userInput(values: FormValues) {
  const shared = ['user', 'context', 'defaultEmail', 'status', 'substatus'];
  const parent = Object.fromEntries(shared.map((name) => [name, textOf(values, `parent_${name}`)]));
  return {
    ...textsOf(values, ...shared, 'language', 'user_mail_key', 'interface'),
    ...(Object.values(parent).every((value) => value === undefined) ? {} : { parent }),
  };
}

export const userForm = orderForm({
  task: 'user',
  fields: fieldsFor,
  interfaces: {
    xmlHas: 'Users with a mail key',
    choice: 'JSON when left empty. XML names the superior user as the owner, by name and context alone.',
  },
  input: userInput,
  presets: (account) => (account?.context === undefined ? {} : { context: String(account.context) }),
  secretField: { name: 'password', read: readSecret },
});

export const users: Feature = {
  commands: [
    {
      usage: 'user',
      summary: taskNamed('user').words.summary,
      example: '/domain user',
      needs: 'account',
      run: (call) => openFromLine(call, userForm, {}, { words: call.words, used: 0 }),
    },
  ],
  forms: [userForm],
  actions: [refreshing('interface', userForm, sslContactForm)],
};
