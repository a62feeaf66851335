import { z } from 'zod';
import type { Secret } from '../service/secret.ts';
import type { Interface } from '../service/task.ts';
import {
  domainAuthInfo,
  domainCreate,
  domainDelete,
  domainOwnerChange,
  domainRenew,
  domainRestore,
  domainTransfer,
  domainUpdateNameservers,
} from '../service/tasks/domain.ts';
import { redirectUpdate } from '../service/tasks/redirect.ts';
import { sslContactUpdate } from '../service/tasks/ssl-contact.ts';
import { userCreate } from '../service/tasks/user.ts';
import { parseHostName } from '../zones/names.ts';
import { checkNameServers, checkPeriod } from '../zones/rules.ts';
import type { ZoneProfile } from '../zones/zone.ts';
import {
  contactId,
  contextNumber,
  countryCode,
  domainName,
  email,
  hostName,
  languageCode,
  optionalNumber,
  optionalText,
  phoneNumber,
  requiredText,
  sslContactId,
  years,
} from './fields.ts';
import type { OrderTaskName } from './order.ts';
import { defineOrderTask, type InputIssue, type InterfaceConstraint, type OrderTask } from './order-task.ts';

/** The most names in one order: its card and its approval must stay readable. */
export const MAX_NAMES = 50;
const TOO_MANY_NAMES = `Give at most ${MAX_NAMES} names in one order, so that its approver can read it.`;

const delegation = {
  name: domainName,
  ownerc: contactId,
  adminc: contactId,
  techc: contactId,
  nameServers: z.array(hostName),
};

const single = z.object({ name: domainName });

function nameServerProblems(
  { nameServers }: { readonly nameServers?: readonly string[] | undefined },
  [zone]: readonly ZoneProfile[],
): InputIssue[] {
  if (zone === undefined || nameServers === undefined) return [];
  return checkNameServers(zone, nameServers).map((problem) => ({ field: 'nameServers', problem }));
}

function delegationWire(input: z.infer<z.ZodObject<typeof delegation>>) {
  return {
    name: input.name,
    ownerc: { id: input.ownerc },
    adminc: { id: input.adminc },
    techc: { id: input.techc },
    nameServers: input.nameServers.map((name) => ({ name })),
  };
}

function requiredSecret(secret: Secret | undefined): Secret {
  if (secret === undefined) throw new Error('reading the sealed part of an order: there is none');
  return secret;
}

const create = defineOrderTask({
  name: 'create',
  service: domainCreate,
  zoneTask: 'create',
  input: z.object(delegation),
  names: (input) => [input.name],
  problems: nameServerProblems,
  remarks: ['It is sent with confirmOrder true: asking for it here, and approving it, is the confirmation.'],
  wire: (input) => ({ ...delegationWire(input), confirmOrder: true }),
});

const transfer = defineOrderTask({
  name: 'transfer',
  service: domainTransfer,
  acceptedOnly: true,
  zoneTask: 'transfer',
  secretField: 'auth',
  input: z.object(delegation),
  names: (input) => [input.name],
  problems: nameServerProblems,
  wire: (input, _name, secret) => ({ ...delegationWire(input), auth: requiredSecret(secret) }),
});

const renew = defineOrderTask({
  name: 'renew',
  service: domainRenew,
  zoneTask: 'renew',
  nameField: 'names',
  input: z.object({
    names: z
      .array(domainName)
      .min(1, 'Give at least one name.')
      .transform((names) => [...new Set(names)])
      .pipe(z.array(z.string()).max(MAX_NAMES, TOO_MANY_NAMES)),
    period: years,
  }),
  names: (input) => input.names,
  problems: ({ period }, zones) =>
    period === undefined
      ? []
      : [...new Set(zones.flatMap((zone) => checkPeriod(zone, period)))].map((problem) => ({
          field: 'period',
          problem,
        })),
  wire: (input, name) => ({ name, period: input.period }),
  onlyFor: (input, names) => ({ ...input, names: [...names] }),
});

const restore = defineOrderTask({
  name: 'restore',
  service: domainRestore,
  acceptedOnly: true,
  zoneTask: 'restore',
  input: single,
  names: (input) => [input.name],
  wire: (input) => input,
});

const deleteDomain = defineOrderTask({
  name: 'delete',
  service: domainDelete,
  zoneTask: 'delete',
  confirmFirst: true,
  input: single,
  names: (input) => [input.name],
  wire: (input) => input,
});

const ownerChange = defineOrderTask({
  name: 'owner-change',
  service: domainOwnerChange,
  acceptedOnly: true,
  zoneTask: 'owner-change',
  confirmFirst: true,
  input: single,
  names: (input) => [input.name],
  wire: (input) => input,
});

const authcode = defineOrderTask({
  name: 'authcode',
  service: domainAuthInfo,
  zoneTask: 'authcode',
  input: single,
  names: (input) => [input.name],
  wire: (input) => input,
  secretOf: (output) => output.auth ?? output.answer,
});

const nameservers = defineOrderTask({
  name: 'nameservers',
  service: domainUpdateNameservers,
  zoneTask: 'nameservers',
  confirmFirst: true,
  input: z.object({ name: domainName, nameServers: z.array(hostName) }),
  names: (input) => [input.name],
  problems: nameServerProblems,
  wire: (input) => ({ name: input.name, nameServers: input.nameServers.map((name) => ({ name })) }),
});

/** An address with a scheme, or a host with a dot and perhaps a path: `www.example.com/menu`. */
const WEB_ADDRESS = /^(?:[a-z][a-z0-9+.-]*:\/\/\S+|[^\s/:?#@]+\.[^\s/:?#@]+(?::\d{1,5})?(?:[/?#]\S*)?)$/i;

/** What is wrong with where a redirect leads; an e-mail redirect leads to an e-mail address. */
function targetProblems(
  field: 'target' | 'backup',
  target: string | undefined,
  type: string | undefined,
): InputIssue[] {
  if (target === undefined || type === undefined) return [];
  const fits = type === 'email' ? email.safeParse(target).success : WEB_ADDRESS.test(target);
  const problem =
    type === 'email'
      ? 'An e-mail redirect leads to an e-mail address, such as anna@example.com.'
      : 'Give a web address, such as https://www.example.com/menu.';
  return fits ? [] : [{ field, problem }];
}

/** A redirect's source as it goes out: a host in ASCII, with its path if it has one; else what was typed. */
function sourceOf(text: string): string | undefined {
  const bare = text.replace(/^<(?:[^<>|]*\|)?([^<>|]*)>$/, '$1').replace(/^https?:\/\//i, '');
  const [first = '', ...path] = bare.split('/');
  const host = parseHostName(first);
  const source = [host.ok ? host.value.ascii : first, ...path].join('/').replace(/\/$/, '');
  return /^[!-~]+$/.test(source) ? source : undefined;
}

/** Something that was given, as what it is called. */
function constraint(value: unknown, field: string, what: string): InterfaceConstraint[] {
  return value === undefined || value === '' ? [] : [{ field, what }];
}

/** An interface that a person chose, where no field decides between the two. */
const chosenInterface = z.enum(['json', 'xml'], 'Choose JSON or XML.').optional();

function chosenTie(chosen: unknown, via: Interface): InterfaceConstraint[] {
  return chosen === via ? [{ field: 'interface', what: `the choice of ${via.toUpperCase()}` }] : [];
}

const redirect = defineOrderTask({
  name: 'redirect',
  service: redirectUpdate,
  constraints: ({ type, mode, title, backup }) => ({
    json: mode === 'HTTP' ? [{ field: 'mode', what: 'the mode HTTP' }] : [],
    xml: [
      ...(type === 'email' ? [{ field: 'type', what: 'an e-mail redirect' }] : []),
      ...(mode === 'frame' || mode === 'single' ? [{ field: 'mode', what: `the mode ${mode}` }] : []),
      ...constraint(title, 'title', 'a title'),
      ...constraint(backup, 'backup', 'a backup target'),
    ],
  }),
  input: z.object({
    source: requiredText('Give the redirect’s source, such as www.cafe.rest.').transform((text, context) => {
      const source = sourceOf(text);
      if (source !== undefined) return source;
      context.addIssue({
        code: 'custom',
        message:
          'Give the source as a host name, with its path if it has one, or an e-mail address, without blanks.',
      });
      return z.NEVER;
    }),
    target: requiredText('Give the target, such as https://www.example.com/menu.', 2_000),
    type: z.enum(['DOMAIN', 'domain', 'email'], 'Choose a type.'),
    mode: z.enum(['HTTP', 'frame', 'single'], 'Choose a mode.'),
    title: optionalText(),
    backup: optionalText(2_000),
  }),
  names: (input) => [input.source],
  problems: ({ target, backup, type }) => [
    ...targetProblems('target', target, type),
    ...targetProblems('backup', backup, type),
  ],
  wire: (input) => input,
});

const sslContact = defineOrderTask({
  name: 'ssl-contact',
  service: sslContactUpdate,
  constraints: ({ fname, lname, interface: chosen }) => ({
    json: [
      ...constraint(fname, 'fname', 'a first name'),
      ...constraint(lname, 'lname', 'a last name'),
      ...chosenTie(chosen, 'json'),
    ],
    xml: chosenTie(chosen, 'xml'),
  }),
  input: z.object({
    interface: chosenInterface,
    id: sslContactId,
    fname: optionalText(),
    lname: optionalText(),
    title: optionalText(),
    organization: optionalText(),
    address: z.array(requiredText('Leave no line empty.')).max(10, 'Give at most 10 lines.').optional(),
    pcode: optionalText(32),
    city: optionalText(),
    country: countryCode,
    state: optionalText(),
    phone: phoneNumber,
    fax: optionalText(),
    email: z.union([email, z.literal('').transform(() => undefined)]).optional(),
  }),
  names: (input) => [String(input.id)],
  problems: ({ id: _id, interface: _via, ...fields }, _zones, complete) =>
    complete && Object.values(fields).every((value) => value === undefined)
      ? [{ field: 'organization', problem: 'Fill in at least one field to change.' }]
      : [],
  wire: ({ interface: _via, ...input }) => ({ ...input, id: String(input.id) }),
});

const user = defineOrderTask({
  name: 'user',
  service: userCreate,
  secretField: 'password',
  constraints: ({ parent, user_mail_key: mailKey, interface: chosen }) => {
    const superior: Readonly<Record<string, unknown>> =
      typeof parent === 'object' && parent !== null ? { ...parent } : {};
    return {
      json: [
        ...constraint(superior['defaultEmail'], 'parent_defaultEmail', 'the superior user’s e-mail'),
        ...constraint(superior['status'], 'parent_status', 'the superior user’s status'),
        ...constraint(superior['substatus'], 'parent_substatus', 'the superior user’s substatus'),
        ...chosenTie(chosen, 'json'),
      ],
      xml: [...constraint(mailKey, 'user_mail_key', 'the mail key'), ...chosenTie(chosen, 'xml')],
    };
  },
  input: z.object({
    user: requiredText('Give the user’s name.').refine(
      (name) => !name.includes(':'),
      'A user name cannot hold a colon: it could not sign in.',
    ),
    context: contextNumber,
    defaultEmail: email,
    language: languageCode,
    status: optionalNumber,
    substatus: optionalNumber,
    parent: z
      .object({
        user: requiredText('Give the superior user’s name.'),
        context: contextNumber,
        defaultEmail: email.optional(),
        status: optionalNumber,
        substatus: optionalNumber,
      })
      .optional(),
    user_mail_key: optionalText(),
    interface: chosenInterface,
  }),
  names: (input) => [input.user],
  wire: ({ user_mail_key: userMailKey, interface: _via, ...input }, _name, password) => ({
    ...input,
    password,
    userMailKey,
  }),
  secretOf: (output) => output.password,
});

/** Every task that becomes an order. Adding one is a row here, beside its declaration in `client/tasks`. */
export const ORDER_TASKS: Readonly<Record<OrderTaskName, OrderTask>> = {
  create,
  transfer,
  renew,
  restore,
  delete: deleteDomain,
  nameservers,
  authcode,
  'owner-change': ownerChange,
  redirect,
  'ssl-contact': sslContact,
  user,
};

/** The row of a task. */
export function taskNamed(name: OrderTaskName): OrderTask {
  return ORDER_TASKS[name];
}
