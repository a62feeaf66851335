import { z } from 'zod';
import type { ServiceClient } from '../client/client.ts';
import type { Envelope } from '../client/envelope.ts';
import type { Secret } from '../client/secret.ts';
import type { Effect, ServiceTask } from '../client/task.ts';
import {
  domainAuthInfo,
  domainCreate,
  domainDelete,
  domainOwnerChange,
  domainRenew,
  domainRestore,
  domainTransfer,
  domainUpdateNameservers,
} from '../client/tasks/domain.ts';
import { redirectUpdate } from '../client/tasks/redirect.ts';
import { sslContactUpdate } from '../client/tasks/ssl-contact.ts';
import { userCreate } from '../client/tasks/user.ts';
import { parseDomainName, parseHostName } from '../zones/names.ts';
import {
  checkName,
  checkNameServers,
  checkPeriod,
  checkTask,
  describeTask,
  type ZoneTask,
  zoneFor,
} from '../zones/rules.ts';
import type { OrderTaskName } from './order.ts';

/** Something that keeps a request from becoming an order, and the field it is about. */
export interface Problem {
  readonly field: string;
  readonly problem: string;
}

/** One request of an order, about to go out. */
export interface Sending {
  readonly input: unknown;
  /** The item's name. */
  readonly name: string;
  readonly secret: Secret | undefined;
  readonly ctid: string;
  readonly signal: AbortSignal;
  /** Awaited right before the first byte may leave. */
  readonly beforeSend: () => Promise<void>;
}

export interface Sent {
  readonly envelope: Envelope;
  readonly httpStatus: number;
  /** Shown once to the requester and nowhere else. */
  readonly secret: Secret | undefined;
}

/** What the orders know of a task. A row of {@link ORDER_TASKS}. */
export interface OrderTask {
  readonly name: OrderTaskName;
  readonly effect: Effect;
  /** Doing it twice does no more than doing it once. */
  readonly idempotent: boolean;
  /** Starts as `DRAFT`: the requester confirms before anybody else hears of it. */
  readonly confirmFirst: boolean;
  /** Its names are domain names. */
  readonly domain: boolean;
  /** The secret field of the input, if it has one. */
  readonly secretField: 'auth' | 'password' | undefined;
  /** The answer holds a secret for the requester. */
  readonly secretResult: boolean;
  /** Why this account cannot do it and what to do instead, or undefined when it can. */
  unsupported(client: ServiceClient): string | undefined;
  /**
   * Checks what a person asked for against the zone's rules, and again before it is sent.
   * @param input as typed, or as stored
   */
  check(
    input: unknown,
  ):
    | { readonly ok: true; readonly input: unknown; readonly names: readonly string[] }
    | { readonly ok: false; readonly problems: readonly Problem[] };
  /** What an approver must know beyond the fields: what the zone says of the task. */
  notes(names: readonly string[]): readonly string[];
  /** The input for some of its names: what a retry asks for again. */
  onlyFor(input: unknown, names: readonly string[]): unknown;
  /** @throws {ServiceError} */
  send(client: ServiceClient, sending: Sending): Promise<Sent>;
}

interface Definition<Input, Wire, Output> {
  readonly name: OrderTaskName;
  readonly service: ServiceTask<Wire, Output>;
  readonly confirmFirst?: boolean;
  readonly secretField?: 'auth' | 'password';
  readonly zoneTask?: ZoneTask;
  readonly input: z.ZodType<Input> & Pick<z.ZodObject, 'partial'>;
  readonly names: (input: Input) => readonly string[];
  /** What is wrong beyond the shape of single fields; asked too when only some of them could be read. */
  readonly problems?: (input: Partial<Input>, complete: boolean) => readonly Problem[];
  readonly wire: (input: Input, name: string, secret: Secret | undefined) => Wire;
  readonly onlyFor?: (input: Input, names: readonly string[]) => Input;
  readonly secretOf?: (output: Output) => Secret | undefined;
}

/** An input without the fields that issues are about. */
function without(raw: unknown, issues: readonly z.core.$ZodIssue[]): object {
  const bad = new Set(issues.map(({ path }) => path[0]));
  return Object.fromEntries(
    Object.entries(typeof raw === 'object' && raw !== null ? raw : {}).filter(([name]) => !bad.has(name)),
  );
}

/** Said of whatever no field has a sentence of its own for, such as an input that another release kept. */
const UNREADABLE = 'This is missing or cannot be read. Fill it in again.';

function defineOrderTask<Input, Wire, Output>(definition: Definition<Input, Wire, Output>): OrderTask {
  const { service, zoneTask } = definition;
  return {
    name: definition.name,
    effect: service.effect,
    idempotent: service.idempotent,
    confirmFirst: definition.confirmFirst ?? false,
    domain: zoneTask !== undefined,
    secretField: definition.secretField,
    secretResult: definition.secretOf !== undefined,

    unsupported(client) {
      const support = client.supports(service);
      return 'unsupported' in support ? support.unsupported : undefined;
    },

    check(raw) {
      const parsed = definition.input.safeParse(raw, { error: () => UNREADABLE });
      if (!parsed.success) {
        const { issues } = parsed.error;
        const unreadable = issues.map((issue) => ({
          // `names` for its third line, `parent_user` for a field of an object.
          field: issue.path.filter((part) => typeof part === 'string').join('_'),
          problem: issue.message,
        }));
        const readable = definition.input.partial().safeParse(without(raw, issues));
        // Each of its fields was read by the schema of that field.
        const input = (readable.data ?? {}) as Partial<Input>;
        return { ok: false, problems: [...unreadable, ...(definition.problems?.(input, false) ?? [])] };
      }
      const names = definition.names(parsed.data);
      const field = definition.name === 'renew' ? 'names' : 'name';
      const zoneProblems =
        zoneTask === undefined
          ? []
          : names.flatMap((name) =>
              checkTask(zoneFor(name), zoneTask).map((problem) => ({ field, problem })),
            );
      const problems = [...zoneProblems, ...(definition.problems?.(parsed.data, true) ?? [])];
      return problems.length > 0 ? { ok: false, problems } : { ok: true, input: parsed.data, names };
    },

    notes(names) {
      if (zoneTask === undefined) return [];
      return [...new Set(names.flatMap((name) => describeTask(zoneFor(name), zoneTask)))];
    },

    onlyFor(raw, names) {
      const input = definition.input.parse(raw);
      return definition.onlyFor?.(input, names) ?? input;
    },

    async send(client, { input, name, secret, ctid, signal, beforeSend }) {
      const wire = definition.wire(definition.input.parse(input), name, secret);
      const { output, envelope, httpStatus } = await client.run(service, wire, { ctid, signal, beforeSend });
      return { envelope, httpStatus, secret: definition.secretOf?.(output) };
    },
  };
}

/** The most names in one order: its card and its approval must stay readable. */
export const MAX_NAMES = 50;
const TOO_MANY_NAMES = `Give at most ${MAX_NAMES} names in one order, so that its approver can read it.`;

const domainName = z.string('Give a domain name, such as cafe.rest.').transform((text, context) => {
  const parsed = parseDomainName(text);
  const problems = parsed.ok ? checkName(parsed.value) : [parsed.problem];
  for (const message of problems) context.addIssue({ code: 'custom', message });
  return parsed.ok ? parsed.value.ascii : z.NEVER;
});

const hostName = z.string().transform((text, context) => {
  const parsed = parseHostName(text);
  if (parsed.ok) return parsed.value.ascii;
  context.addIssue({ code: 'custom', message: parsed.problem });
  return z.NEVER;
});

/** A number as it is stored, or as people type it: `1e3`, `0x1f` and an empty text are none. */
const wholeNumber = (message: string) =>
  z
    .union(
      [
        z.number(),
        z
          .string()
          .trim()
          .regex(/^[+-]?\d{1,15}$/)
          .transform(Number),
      ],
      message,
    )
    .pipe(z.int(message));

const GIVE_CONTACT = 'Give the contact’s id, a whole number above 0.';
const contactId = wholeNumber(GIVE_CONTACT)
  .pipe(z.number().positive(GIVE_CONTACT))
  .pipe(z.number().max(2_147_483_647, 'That number is too large for a contact’s id.'));

const years = wholeNumber('Give the period in whole years, such as 2.');

const delegation = {
  name: domainName,
  ownerc: contactId,
  adminc: contactId,
  techc: contactId,
  nameServers: z.array(hostName),
};

const single = z.object({ name: domainName });

function nameServerProblems({
  name,
  nameServers,
}: {
  readonly name?: string | undefined;
  readonly nameServers?: readonly string[] | undefined;
}): Problem[] {
  if (name === undefined || nameServers === undefined) return [];
  return checkNameServers(zoneFor(name), nameServers).map((problem) => ({ field: 'nameServers', problem }));
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

function needed(secret: Secret | undefined): Secret {
  if (secret === undefined) throw new Error('reading the sealed part of an order: there is none');
  return secret;
}

/** Characters that nobody can see or that are half of one: neither the interfaces nor the database carry them. */
const UNSEEN = /[\p{Cc}\p{Cs}]/u;

const requiredText = (message: string, max = 255) =>
  z
    .string(message)
    .trim()
    .min(1, message)
    .max(max, `Use at most ${max} characters.`)
    .refine((text) => !UNSEEN.test(text), 'It contains a character that cannot be seen. Type it again.');

/** A text that is left out when it is empty: "what is left empty is not sent". */
const optionalText = (max = 255) =>
  z
    .string()
    .trim()
    .max(max, `Use at most ${max} characters.`)
    .refine((text) => !UNSEEN.test(text), 'It contains a character that cannot be seen. Type it again.')
    .transform((text) => (text === '' ? undefined : text))
    .optional();

const GIVE_NUMBER = 'Give a whole number from 0.';
const optionalNumber = wholeNumber(GIVE_NUMBER)
  .pipe(z.number().nonnegative(GIVE_NUMBER))
  .pipe(z.number().max(2_147_483_647, 'That number is too large.'))
  .optional();

const GIVE_CONTEXT = 'Give the context’s number, such as 4.';
const contextNumber = wholeNumber(GIVE_CONTEXT)
  .pipe(z.number().positive(GIVE_CONTEXT))
  .pipe(z.number().max(2_147_483_647, 'That number is too large for a context.'));

const email = z.email('Give an e-mail address, such as anna@example.com.');

const create = defineOrderTask({
  name: 'create',
  service: domainCreate,
  zoneTask: 'create',
  input: z.object(delegation),
  names: (input) => [input.name],
  problems: nameServerProblems,
  // Only a confirmed or approved order is ever sent.
  wire: (input) => ({ ...delegationWire(input), confirmOrder: true }),
});

const transfer = defineOrderTask({
  name: 'transfer',
  service: domainTransfer,
  zoneTask: 'transfer',
  secretField: 'auth',
  input: z.object(delegation),
  names: (input) => [input.name],
  problems: nameServerProblems,
  wire: (input, _name, secret) => ({ ...delegationWire(input), auth: needed(secret) }),
});

const renew = defineOrderTask({
  name: 'renew',
  service: domainRenew,
  zoneTask: 'renew',
  input: z.object({
    names: z
      .array(domainName)
      .min(1, 'Give at least one name.')
      .transform((names) => [...new Set(names)])
      .pipe(z.array(z.string()).max(MAX_NAMES, TOO_MANY_NAMES)),
    period: years,
  }),
  names: (input) => input.names,
  // Where no name can be read the general rules say what a period is.
  problems: ({ names = [''], period }) =>
    period === undefined
      ? []
      : [...new Set(names.flatMap((name) => checkPeriod(zoneFor(name), period)))].map((problem) => ({
          field: 'period',
          problem,
        })),
  wire: (input, name) => ({ name, period: input.period }),
  onlyFor: (input, names) => ({ ...input, names: [...names] }),
});

const restore = defineOrderTask({
  name: 'restore',
  service: domainRestore,
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
  input: z.object({ name: domainName, nameServers: z.array(hostName) }),
  names: (input) => [input.name],
  problems: nameServerProblems,
  wire: (input) => ({ name: input.name, nameServers: input.nameServers.map((name) => ({ name })) }),
});

/** A web address, with or without its scheme: `www.example.com/menu`. */
const WEB_ADDRESS = /^(?:https?:\/\/)?[^\s/:?#@]+\.[^\s/:?#@]+(?::\d{1,5})?(?:[/?#]\S*)?$/i;

/** What is wrong with where a redirect leads; an e-mail redirect leads to an e-mail address. */
function targetProblems(
  field: 'target' | 'backup',
  target: string | undefined,
  type: string | undefined,
): Problem[] {
  if (target === undefined || type === undefined) return [];
  const fits = type === 'email' ? email.safeParse(target).success : WEB_ADDRESS.test(target);
  const problem =
    type === 'email'
      ? 'An e-mail redirect leads to an e-mail address, such as anna@example.com.'
      : 'Give a web address, such as https://www.example.com/menu.';
  return fits ? [] : [{ field, problem }];
}

const redirect = defineOrderTask({
  name: 'redirect',
  service: redirectUpdate,
  input: z.object({
    source: requiredText('Give the redirect’s source, such as www.cafe.rest.').transform((text, context) => {
      const host = parseHostName(text);
      if (host.ok) return host.value.ascii;
      // What is no host name, such as an e-mail address, goes out as it is.
      if (/^[!-.0-~]+$/.test(text)) return text;
      context.addIssue({
        code: 'custom',
        message: 'Give the source as a host name or an e-mail address, without blanks or slashes.',
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

/** Service API, section "SSL contact": international format. */
const phoneNumber = z
  .string()
  .trim()
  .regex(/^(\+[1-9][0-9 ().-]{4,30})?$/, 'Give the number in international format, such as +49-30-5550100.')
  .transform((text) => (text === '' ? undefined : text))
  .optional();

const sslContact = defineOrderTask({
  name: 'ssl-contact',
  service: sslContactUpdate,
  input: z.object({
    id: contactId,
    fname: optionalText(),
    lname: optionalText(),
    title: optionalText(),
    organization: optionalText(),
    address: z.array(requiredText('Leave no line empty.')).max(10, 'Give at most 10 lines.').optional(),
    pcode: optionalText(32),
    city: optionalText(),
    country: z
      .string()
      .trim()
      .toUpperCase()
      .regex(/^([A-Z]{2})?$/, 'Give the country’s two-letter code, such as DE.')
      .transform((text) => (text === '' ? undefined : text))
      .optional(),
    state: optionalText(),
    phone: phoneNumber,
    fax: phoneNumber,
    email: z.union([email, z.literal('').transform(() => undefined)]).optional(),
  }),
  names: (input) => [String(input.id)],
  problems: ({ id: _id, ...fields }, complete) =>
    complete && Object.values(fields).every((value) => value === undefined)
      ? [{ field: 'organization', problem: 'Fill in at least one field to change.' }]
      : [],
  wire: (input) => ({ ...input, id: String(input.id) }),
});

const user = defineOrderTask({
  name: 'user',
  service: userCreate,
  secretField: 'password',
  input: z.object({
    user: requiredText('Give the user’s name.').refine(
      (name) => !name.includes(':'),
      'A user name cannot hold a colon: it could not sign in.',
    ),
    context: contextNumber,
    defaultEmail: email,
    language: z
      .string()
      .trim()
      .toLowerCase()
      .regex(/^([a-z]{2})?$/, 'Give the language’s two-letter code, such as en.')
      .transform((text) => (text === '' ? undefined : text))
      .optional(),
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
  }),
  names: (input) => [input.user],
  wire: (input, _name, password) => ({ ...input, password }),
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
