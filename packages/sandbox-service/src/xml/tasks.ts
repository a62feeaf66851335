import type { Claim } from '../access.ts';
import { createPasswordNotice, createUserNotifiedNotice, type Notice } from '../answer.ts';
import type { Caller, ServiceState } from '../operations/caller.ts';
import { updateRedirect } from '../operations/redirects.ts';
import { updateSslContact } from '../operations/ssl-contacts.ts';
import { createUser } from '../operations/users.ts';
import { Refusal } from '../refusal.ts';
import { DEFAULT_SESSION_MINUTES } from '../sessions.ts';
import type { ServiceTask } from '../tasks.ts';
import { readChildren, readTexts, type XmlElement, type XmlMarkup, xmlElement } from './codec.ts';
import { handlePreregSearch } from './prereg.ts';
import { readInteger, readOneOf } from './request.ts';

/* See “Task codes” in the service's API documentation. */

interface XmlCall {
  readonly service: ServiceState;
  readonly caller: Caller;
  readonly claim: Claim;
  readonly taskElement: XmlElement;
}

export interface XmlOutcome {
  readonly data?: readonly XmlMarkup[];
  readonly notices?: readonly Notice[];
  readonly object?: { readonly type: string; readonly value: string };
}

interface XmlTask {
  readonly serviceTask: ServiceTask;
  /** The path of the element with the object's name, which is logged. */
  readonly namePath?: readonly [element: string, child: string];
  run(call: XmlCall): XmlOutcome;
}

const createSessionTask: XmlTask = {
  serviceTask: 'session.create',
  run({ service, caller: { user, context }, claim, taskElement }) {
    readChildren(taskElement, { code: 'one' });
    if (claim.kind === 'session') throw new Refusal('malformed', 'auth_session: there is already a session');
    const session = service.sessions.open({ interface: 'xml', user, context }, DEFAULT_SESSION_MINUTES);
    return {
      data: [xmlElement('auth_session', xmlElement('hash', session.id))],
      object: { type: 'user', value: `${user}, ${context}` },
    };
  },
};

const deleteSessionTask: XmlTask = {
  serviceTask: 'session.delete',
  run({ service, caller: { user, context }, claim, taskElement }) {
    readChildren(taskElement, { code: 'one' });
    if (claim.kind !== 'session') throw new Refusal('malformed', 'auth_session: there is no session to end');
    service.sessions.end(claim.id);
    return { object: { type: 'user', value: `${user}, ${context}` } };
  },
};

const createUserTask: XmlTask = {
  serviceTask: 'user.create',
  namePath: ['user', 'user'],
  run({ service, caller, taskElement }) {
    const element = readSingleElement(taskElement, 'user');
    const { owner, rest } = splitOwner(element);
    const texts = readTexts(rest, [
      'user',
      'context',
      'default_mail',
      'password',
      'status',
      'substatus',
      'language',
      'user_mail_key',
    ]);
    const readOptionalInteger = (name: 'status' | 'substatus'): number | undefined => {
      const text = texts.optional(name);
      return text === undefined ? undefined : readInteger(name, text);
    };
    const user = texts.required('user');
    const context = readInteger('context', texts.required('context'));
    const { generatedPassword } = createUser(service, caller, {
      user,
      context,
      defaultEmail: texts.required('default_mail'),
      password: texts.optional('password'),
      status: readOptionalInteger('status'),
      substatus: readOptionalInteger('substatus'),
      language: texts.optional('language'),
      parent: owner,
    });
    const isUserNotified = texts.optional('user_mail_key') !== undefined;
    return {
      notices: [
        ...(isUserNotified ? [createUserNotifiedNotice(user, context)] : []),
        ...(generatedPassword === undefined ? [] : [createPasswordNotice(generatedPassword)]),
      ],
      object: { type: 'user', value: `${user}, ${context}` },
    };
  },
};

function splitOwner(element: XmlElement): {
  owner: { user: string; context: number } | undefined;
  rest: XmlElement;
} {
  const [owner, secondOwner] = element.children.filter((child) => child.name === 'owner');
  if (secondOwner !== undefined) throw new Refusal('malformed', 'user: element owner is given twice');
  const rest = { ...element, children: element.children.filter((child) => child.name !== 'owner') };
  if (owner === undefined) return { owner: undefined, rest };
  const texts = readTexts(owner, ['user', 'context']);
  return {
    owner: { user: texts.required('user'), context: readInteger('owner.context', texts.required('context')) },
    rest,
  };
}

const updateRedirectTask: XmlTask = {
  serviceTask: 'redirect.update',
  namePath: ['redirect', 'source'],
  run({ service, caller, taskElement }) {
    const texts = readTexts(readSingleElement(taskElement, 'redirect'), [
      'type',
      'mode',
      'title',
      'source',
      'target',
      'backup',
    ]);
    const title = texts.optional('title');
    const backup = texts.optional('backup');
    updateRedirect(service, caller, {
      type: readOneOf('type', texts.required('type'), ['domain', 'email']),
      mode: readOneOf('mode', texts.required('mode'), ['frame', 'single']),
      source: texts.required('source'),
      target: texts.required('target'),
      ...(title !== undefined && { title }),
      ...(backup !== undefined && { backup }),
    });
    return {};
  },
};

/** Maps XML elements of a certificate contact to the JSON field names that the sandbox stores. */
const CONTACT_FIELDS_BY_ELEMENT = {
  title: 'title',
  organization: 'organization',
  address: 'address',
  postal_code: 'pcode',
  city: 'city',
  country: 'country',
  state: 'state',
  phone: 'phone',
  fax: 'fax',
  email: 'email',
} as const;

const updateSslContactTask: XmlTask = {
  serviceTask: 'sslContact.update',
  namePath: ['contact', 'id'],
  run({ service, caller, taskElement }) {
    const elements = Object.entries(CONTACT_FIELDS_BY_ELEMENT);
    const texts = readTexts(readSingleElement(taskElement, 'contact'), [
      'id',
      ...elements.map(([element]) => element),
    ]);
    const id = texts.required('id');
    const fields = Object.fromEntries(
      elements.flatMap(([element, field]) => {
        const text = texts.optional(element);
        return text === undefined ? [] : [[field, field === 'address' ? text.split(/,\s*/) : text]];
      }),
    );
    updateSslContact(service, caller, id, fields);
    return { object: { type: 'contact', value: id } };
  },
};

const searchPreregsTask: XmlTask = {
  serviceTask: 'prereg.search',
  run: ({ service, caller, taskElement }) => ({ data: handlePreregSearch(service, caller, taskElement) }),
};

export const XML_TASKS: ReadonlyMap<string, XmlTask> = new Map([
  ['1321001', createSessionTask],
  ['1321003', deleteSessionTask],
  ['1301001', createUserTask],
  ['0502', updateRedirectTask],
  ['400202', updateSslContactTask],
  ['0110005', searchPreregsTask],
]);

/** Reads the task's single element besides `code`. */
function readSingleElement(taskElement: XmlElement, name: string): XmlElement {
  const [element] = readChildren(taskElement, { code: 'one', [name]: 'one' })(name);
  if (element === undefined) throw new Refusal('malformed', `task: element ${name} is missing`);
  return element;
}
