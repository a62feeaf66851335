import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import type { ServiceClient } from '../../service/client.ts';
import { ServiceError } from '../../service/errors.ts';
import { type AvailableInterfaces, getTaskInterfaces } from '../../service/interfaces.ts';
import type { Interface } from '../../service/task.ts';
import {
  PREREG_FILTERS,
  type Preregistration,
  type Preregistrations,
  preregSearch,
} from '../../service/tasks/prereg.ts';
import { parseDomainName } from '../../zones/names.ts';
import { NOT_LINKED } from '../accounts/link.view.ts';
import type { ActionCall, CommandCall, Feature, FormFeature, Interaction } from '../feature.ts';
import { context as contextBlock, escapeText, type Message, message } from '../kit/blocks.ts';
import {
  choiceField,
  choicesSchema,
  type FieldErrors,
  type FormValues,
  field,
  noticeView,
  parseForm,
  textField,
  toFields,
  unvalidatedLinesSchema,
  unvalidatedTextSchema,
} from '../kit/form.ts';
import { openFormFromCommand } from '../open-form.ts';
import { interfaceNote } from '../orders/interface.view.ts';
import { createRefreshAction } from '../refresh-form.ts';
import {
  constraintText,
  ENTER_ONE_NAME,
  equalNeedsJsonText,
  fieldLabel,
  type InterfaceConstraint,
  LIST_EXPIRED,
  NO_OFFSET,
  NO_WILDCARDS,
  noWildcardsText,
  OPTIONAL_PREREG_KEYS,
  type PreregQuery,
  preregGoneText,
  preregPage,
  preregRecords,
  searchErrorMessage,
  XML_FEATURES,
  XML_UNAVAILABLE,
} from './prereg.view.ts';

/* Preregistrations. People search with their own account, and only they see the result. */

const PAGE_SIZE = 20;
/** Slack's limit on the rows of a table. */
const MAX_ROWS = 100;
/** Shorter than the timeout of orders, because a search changes nothing. */
const SEARCH_TIMEOUT_MS = 20_000;
/** Views must open within 3 seconds of the click. */
const VIEW_OPEN_DEADLINE_MS = 2_300;

const BOTH_INTERFACES: AvailableInterfaces = { json: true, xml: true };

/** Fields of a record that only XML returns, and only if requested. */
const XML_ONLY_KEYS = ['ownerc', 'zonec'] as const;

/** The single-valued default fields. The API documentation doesn't list sort keys. */
const SORT_KEYS = [
  ...['name', 'created', 'updated', 'status', 'phase', 'period', 'order_reference'],
  ...['recommended', 'confirmed'],
];

const keyNameSchema = z.string().regex(/^[A-Za-z][\w.]{0,59}$/);
const filterValueSchema = z.string().min(1).max(253);

/** The search in a paging button's value. It isn't signed, because a search changes nothing. */
const querySchema = z.object({
  filters: z.partialRecord(z.enum(PREREG_FILTERS), filterValueSchema),
  operator: z.enum(['EQUAL', 'like']).optional(),
  order: keyNameSchema.optional(),
  children: z.boolean(),
  keys: z.array(keyNameSchema).max(20),
  offset: z.int().nonnegative(),
  limit: z.int().positive().max(MAX_ROWS),
});

const toFieldConstraint = (field: string, constraint: InterfaceConstraint) => ({ field, constraint });

/** Search options that are documented for only one interface, by that interface. */
function listInterfaceConstraints({ operator, order, keys }: PreregQuery) {
  const nonstandardKey = keys.find((key) => !OPTIONAL_PREREG_KEYS.some((knownKey) => knownKey === key));
  return {
    json: operator === 'EQUAL' ? [toFieldConstraint('operator', { code: 'equal' })] : [],
    xml: [
      ...(operator === 'like' ? [toFieldConstraint('operator', { code: 'like' })] : []),
      ...(order === undefined ? [] : [toFieldConstraint('order', { code: 'order' })]),
      ...(nonstandardKey === undefined
        ? []
        : [toFieldConstraint('key', { code: 'key', key: nonstandardKey })]),
    ],
  };
}

const WILDCARD = /[%*]/;
const LABEL = /^[\p{L}\p{M}\p{Nd}%*-]{1,63}$/u;
const LOCAL_TIME = /^(\d{4}-\d\d-\d\d)(?:[ T](\d\d:\d\d)(:\d\d)?)?$/;
/** A time with a UTC offset, in the JSON format of the service. */
const TIME_WITH_OFFSET = /^\d{4}-\d\d-\d\d[ T]\d\d:\d\d(?::\d\d(?:\.\d{1,6})?)?(?:Z|[+-]\d\d:?\d\d)$/;

function parseLabel(text: string): string | undefined {
  if (!LABEL.test(text)) return undefined;
  if (WILDCARD.test(text)) return text.toLowerCase();
  const host = parseDomainName(`${text}.example`);
  return host.ok ? host.value.ascii.slice(0, -'.example'.length) : undefined;
}

/** A TLD such as `rest` or `co.uk`, with or without a leading dot. */
function parseTld(text: string): string | undefined {
  const labels = text.replace(/^\./, '').replace(/\.$/, '').split('.').map(parseLabel);
  return labels.includes(undefined) ? undefined : labels.join('.');
}

/** Accepts a date or a time. A time with a UTC offset is sent as entered. */
function parseTime(text: string): string | undefined {
  if (TIME_WITH_OFFSET.test(text)) return text;
  const [, day, time, seconds = ':00'] = LOCAL_TIME.exec(text) ?? [];
  if (day !== undefined) return `${day} ${time === undefined ? '00:00:00' : `${time}${seconds}`}`;
  return WILDCARD.test(text) && /^[\d :T%*-]{1,40}$/.test(text) ? text : undefined;
}

/**
 * Converts a filter to the value that is sent.
 * @param errorText shown if {@link parse} returns undefined
 */
function createFilterSchema(parse: (text: string) => string | undefined, errorText: string) {
  return z.string().transform((text, context) => {
    const value = parse(text);
    if (value !== undefined) return value;
    context.addIssue(errorText);
    return z.NEVER;
  });
}

/** XML if the search needs it, or if the account can't use JSON and the search doesn't need JSON. */
function selectInterface(query: PreregQuery, availableInterfaces: AvailableInterfaces): Interface {
  const { json, xml } = listInterfaceConstraints(query);
  return xml.length > 0 || (!availableInterfaces.json && json.length === 0) ? 'xml' : 'json';
}

type ParsedQuery = { readonly query: PreregQuery } | { readonly errors: FieldErrors };

/** Finds errors if neither interface supports the whole search. */
function findInterfaceErrors(query: PreregQuery, availableInterfaces: AvailableInterfaces): FieldErrors {
  const errors: Record<string, string> = {};
  const constraints = listInterfaceConstraints(query);
  const [xmlConstraint] = constraints.xml;
  if (xmlConstraint !== undefined && constraints.json.length > 0) {
    errors['operator'] = equalNeedsJsonText(xmlConstraint.constraint);
  } else if (xmlConstraint !== undefined && !availableInterfaces.xml) {
    errors[xmlConstraint.field] = XML_UNAVAILABLE;
  }
  const usedInterface = selectInterface(query, availableInterfaces);
  for (const key of PREREG_FILTERS) {
    const value = query.filters[key] ?? '';
    if (usedInterface === 'json' && WILDCARD.test(value)) errors[key] = NO_WILDCARDS;
    if (usedInterface === 'xml' && TIME_WITH_OFFSET.test(value)) errors[key] = NO_OFFSET;
  }
  return errors;
}

/** Parses text such as `cafe`, `cafe.rest`, `cafe.co.uk` or `.rest`. */
function parseQuery(text: string, availableInterfaces: AvailableInterfaces): ParsedQuery {
  const dotIndex = text.indexOf('.');
  if (dotIndex === -1) return readQuery({ sld: text, ...INCLUDE_SUB_USERS }, availableInterfaces);
  const tld = text.slice(dotIndex);
  const tldField = tld.replace(/\.$/, '').lastIndexOf('.') > 0 ? 'subtld' : 'tld';
  return readQuery(
    { sld: text.slice(0, dotIndex), [tldField]: tld, ...INCLUDE_SUB_USERS },
    availableInterfaces,
  );
}

interface SearchAccount {
  readonly accountId: string;
  readonly client: ServiceClient;
  readonly availableInterfaces: AvailableInterfaces;
}

/** The person's active account; undefined if none is linked. */
async function loadSearchAccount(call: Interaction): Promise<SearchAccount | undefined> {
  const account = await call.loadAccount();
  const client = account === undefined ? undefined : await call.context.accounts.loadClient(account.id);
  if (account === undefined || client === undefined) return undefined;
  const availableInterfaces = getTaskInterfaces(preregSearch, call.context.orders.listInterfaces(account));
  return { accountId: account.id, client, availableInterfaces };
}

/** @throws {ServiceError} */
async function runSearch(
  call: Interaction,
  { accountId, client }: SearchAccount,
  { filters, order, children, keys, offset, limit }: PreregQuery,
  usedInterface: Interface,
): Promise<Preregistrations> {
  const input = {
    view: { children, offset, limit },
    filters: PREREG_FILTERS.flatMap((key) => {
      const value = filters[key];
      return value === undefined
        ? []
        : // An ID with leading zeros is sent as a string.
          [{ key, value: key === 'id' && isDigits(value) && !/^0\d/.test(value) ? Number(value) : value }];
    }),
    ...(order === undefined ? {} : { order: { key: order, mode: 'asc' as const } }),
  };
  // XML has no documented field for a client transaction ID.
  const ctid = usedInterface === 'json' ? randomUUID() : undefined;
  const { output } = await client.run(preregSearch, input, {
    ctid,
    keys,
    interface: usedInterface,
    timeoutMs: SEARCH_TIMEOUT_MS,
  });
  await call.context.accounts.recordAccepted(accountId);
  return output;
}

function isDigits(text: string): boolean {
  return /^\d{1,15}$/.test(text);
}

async function searchAndBuildReply(call: Interaction, query: PreregQuery): Promise<Message> {
  const account = await loadSearchAccount(call);
  if (account === undefined) return NOT_LINKED;
  const usedInterface = selectInterface(query, account.availableInterfaces);
  try {
    return preregPage(query, await runSearch(call, account, query, usedInterface), usedInterface);
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    call.context.log.info({ err: error }, 'a search for preregistrations failed');
    return searchErrorMessage(error);
  }
}

async function runPrereg(call: CommandCall): Promise<void> {
  const [text, ...extraWords] = call.words;
  if (text === undefined) return openFormFromCommand(call, preregForm, {});
  const account = await loadSearchAccount(call);
  if (account === undefined) return call.respond(NOT_LINKED);
  const parsed = extraWords.length > 0 ? undefined : parseQuery(text, account.availableInterfaces);
  if (parsed !== undefined && 'query' in parsed)
    return call.respond(await searchAndBuildReply(call, parsed.query));
  if (parsed !== undefined && Object.values(parsed.errors).includes(NO_WILDCARDS)) {
    return call.respond(noWildcardsText(account.availableInterfaces.xml));
  }
  await call.respond(ENTER_ONE_NAME);
}

async function turnPage(call: ActionCall): Promise<void> {
  const query = parseButtonValue(call.value);
  if (query === undefined) return call.respond(LIST_EXPIRED);
  await call.respond(await searchAndBuildReply(call, query), { replace: true });
}

function parseButtonValue(value: string): PreregQuery | undefined {
  try {
    return querySchema.parse(JSON.parse(value));
  } catch {
    return undefined;
  }
}

/** Shows the full records of a name. They are looked up again, because the button contains only the name. */
async function showFullRecords(call: ActionCall): Promise<void> {
  const name = call.value;
  const account = await loadSearchAccount(call);
  if (account === undefined) return call.respond(NOT_LINKED);
  const [label = ''] = name.split('.');
  const usedInterface: Interface = account.availableInterfaces.json ? 'json' : 'xml';
  const query: PreregQuery = {
    filters: { sld: label },
    children: true,
    keys: [...OPTIONAL_PREREG_KEYS, ...(usedInterface === 'xml' ? XML_ONLY_KEYS : [])],
    offset: 0,
    limit: MAX_ROWS,
  };
  let records: readonly Preregistration[];
  try {
    records = (await runSearch(call, account, query, usedInterface)).records.filter(
      (record) => record['name'] === name,
    );
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    return call.respond(searchErrorMessage(error));
  }
  if (records.length === 0) return call.respond(preregGoneText(name));
  const blocks = preregRecords(name, records, call.context.now());
  if (performance.now() < call.arrivedAt + VIEW_OPEN_DEADLINE_MS)
    return call.open(noticeView('Preregistration', blocks));
  await call.respond(message(`Preregistration ${escapeText(name)}`, blocks));
}

const timeField = (label: string) =>
  field(
    { label, kind: 'text', placeholder: '2027-03-01 00:00:00' },
    createFilterSchema(
      parseTime,
      'Enter a date, or a time such as 2027-03-01 12:00:00. With JSON, you can add a UTC offset.',
    ).optional(),
  );

const tldSchema = createFilterSchema(parseTld, 'Enter only the TLD, such as rest.');

/** See “Preregistration search” in the service's API documentation. */
const buildSearchSchema = ({ json, xml }: AvailableInterfaces) =>
  z.object({
    sld: field(
      {
        label: 'Name',
        kind: 'text',
        placeholder: 'cafe',
        hint: 'Without the TLD. Leave empty to find all names.',
      },
      createFilterSchema(
        parseLabel,
        'Enter the name without its TLD, such as cafe. Use letters, digits and hyphens.',
      ).optional(),
    ),
    tld: field(
      { label: 'TLD', kind: 'text', placeholder: 'rest' },
      tldSchema
        .refine(
          (text) => !text.includes('.'),
          'Enter only the last part, such as uk. Enter co.uk in the field below.',
        )
        .optional(),
    ),
    subtld: textField('Multi-part TLD', { placeholder: 'co.uk' }, tldSchema.optional()),
    id: field(
      { label: 'Preregistration ID', kind: 'text' },
      z
        .string()
        .regex(/^[\w%*-]{1,64}$/, 'Enter the preregistration’s ID.')
        .optional(),
    ),
    'prereg_config.confirmation_start': timeField('Confirmation starts'),
    'prereg_config.confirmation_end': timeField('Confirmation ends'),
    'prereg_config.period_start': timeField('Phase starts'),
    'prereg_config.period_end': timeField('Phase ends'),
    operator: choiceField(
      'Comparison',
      {
        ...(json ? { EQUAL: 'EQUAL: exact match' } : {}),
        ...(xml ? { like: 'like: similar, as defined by the service' } : {}),
      },
      z.enum(['EQUAL', 'like']).optional().catch(undefined),
      {
        hint: 'EQUAL uses JSON, “like” uses XML. EQUAL doesn’t support the wildcards % and *.',
        refreshesForm: true,
      },
    ),
    order: choiceField(
      'Sort by',
      Object.fromEntries(SORT_KEYS.map((key) => [key, fieldLabel(key)])),
      z.enum(SORT_KEYS).optional().catch(undefined),
      { refreshesForm: true },
    ),
    order_mode: choiceField('Direction', { asc: 'Ascending' }, unvalidatedTextSchema, {
      hint: 'No other direction is documented.',
    }),
    children: choiceField('Owners', { true: 'Include sub-users' }, unvalidatedLinesSchema, {
      kind: 'checkboxes',
    }),
    limit: field(
      { label: 'Records per page', kind: 'number', hint: `1 to ${MAX_ROWS}. The default is ${PAGE_SIZE}.` },
      z
        .string()
        .default(String(PAGE_SIZE))
        .refine(
          (text) => isDigits(text) && Number(text) >= 1 && Number(text) <= MAX_ROWS,
          `Enter a whole number from 1 to ${MAX_ROWS}, the most a message can show.`,
        )
        .transform(Number),
    ),
    keys: choiceField(
      'Also show',
      {
        ...{ tmch_mark: 'Trademark claim', extension: 'Extension data', nsentry: 'Nameserver entries' },
        ...(xml ? { ownerc: 'Owner contact', zonec: 'Zone contact' } : {}),
      },
      choicesSchema,
      { kind: 'checkboxes' },
    ),
    key: field(
      {
        label: 'Other fields',
        kind: 'lines',
        hint: 'More fields to show. Use the service’s field names, one per line.',
      },
      z
        .array(z.string())
        .default([])
        .refine(
          (keys) => keys.length <= 10 && keys.every((key) => keyNameSchema.safeParse(key).success),
          'Enter at most 10 field names, one per line. Use letters, digits and _, such as zonec.',
        ),
    ),
  });

const searchSchema = buildSearchSchema(BOTH_INTERFACES);
const XML_ONLY_FIELDS: ReadonlySet<string> = new Set(['order', 'order_mode', 'key']);

const buildFields = (availableInterfaces: AvailableInterfaces) =>
  toFields(buildSearchSchema(availableInterfaces)).filter(
    ({ name }) => availableInterfaces.xml || !XML_ONLY_FIELDS.has(name),
  );

/** Reads the search from the valid fields, and returns errors for the others. */
function readValidFields(values: FormValues): { readonly query: PreregQuery; readonly errors: FieldErrors } {
  const parsed = parseForm(searchSchema, values);
  if ('errors' in parsed) {
    const validEntries = Object.entries(values).filter(([name]) => parsed.errors[name] === undefined);
    return { ...readValidFields(Object.fromEntries(validEntries)), errors: parsed.errors };
  }
  const { operator, order, limit, children, keys, key, ...filters } = parsed.value;
  const query: PreregQuery = {
    filters: Object.fromEntries(
      PREREG_FILTERS.flatMap((name) => (filters[name] === undefined ? [] : [[name, filters[name]]])),
    ),
    operator,
    order,
    children: children?.includes('true') === true,
    keys: [...new Set([...keys, ...key])].filter((name) => keyNameSchema.safeParse(name).success),
    offset: 0,
    limit,
  };
  return { query, errors: {} };
}

function readQuery(values: FormValues, availableInterfaces: AvailableInterfaces): ParsedQuery {
  const { query, errors } = readValidFields(values);
  const allErrors = { ...errors, ...findInterfaceErrors(query, availableInterfaces) };
  return Object.keys(allErrors).length > 0 ? { errors: allErrors } : { query };
}

const INCLUDE_SUB_USERS = { children: ['true'] };

const preregForm: FormFeature<'prereg'> = {
  form: {
    name: 'prereg',
    title: 'Find preregistrations',
    submit: 'Search',
    fields: buildFields(BOTH_INTERFACES),
  },
  // A search isn't an order, so it never uses the team's account.
  checkAccess: async (call) => ((await call.loadAccount()) === undefined ? NOT_LINKED : undefined),

  async render(call, _origin, values) {
    const account = await call.loadAccount();
    const availableInterfaces = (await loadSearchAccount(call))?.availableInterfaces ?? BOTH_INTERFACES;
    const [xmlConstraint] = listInterfaceConstraints(readValidFields(values).query).xml;
    const xmlReason = xmlConstraint && ` because of ${constraintText(xmlConstraint.constraint)}`;
    return {
      form: { ...preregForm.form, fields: buildFields(availableInterfaces) },
      values: { ...INCLUDE_SUB_USERS, ...values },
      intro: [contextBlock(interfaceNote(account, availableInterfaces, xmlReason, XML_FEATURES))],
    };
  },

  async submit(call) {
    const availableInterfaces = (await loadSearchAccount(call))?.availableInterfaces ?? BOTH_INTERFACES;
    const parsed = readQuery({ ...INCLUDE_SUB_USERS, ...call.values }, availableInterfaces);
    return 'errors' in parsed ? parsed : { reply: await searchAndBuildReply(call, parsed.query) };
  },
};

export const prereg = {
  commands: [
    {
      usage: 'prereg [TEXT]',
      summary: 'Find preregistrations',
      example: '/domain prereg cafe.rest',
      run: runPrereg,
    },
  ],
  forms: [preregForm],
  actions: [
    { id: 'prereg_next', run: turnPage },
    { id: 'prereg_previous', run: turnPage },
    { id: 'prereg_open', run: showFullRecords },
    createRefreshAction('operator', preregForm),
    createRefreshAction('order', preregForm),
  ],
} as const satisfies Feature;
