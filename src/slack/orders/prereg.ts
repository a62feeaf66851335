import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import type { ServiceClient } from '../../service/client.ts';
import { ServiceError } from '../../service/errors.ts';
import { type AvailableInterfaces, taskInterfaces } from '../../service/interfaces.ts';
import { NOT_SENDABLE } from '../../service/request-issue.ts';
import type { Interface } from '../../service/task.ts';
import {
  PREREG_FILTERS,
  type Preregistration,
  type Preregistrations,
  preregSearch,
} from '../../service/tasks/prereg.ts';
import { parseDomainName } from '../../zones/names.ts';
import { NOT_LINKED } from '../accounts/link.view.ts';
import {
  type ActionCall,
  type CommandCall,
  type Feature,
  type FormFeature,
  type Interaction,
  linesOf,
  textOf,
} from '../feature.ts';
import {
  code,
  context,
  count,
  escapeText,
  type Message,
  message,
  quote,
  textMessage,
} from '../kit/blocks.ts';
import { type Field, type FieldErrors, type FormValues, noticeView } from '../kit/form.ts';
import { refreshing } from '../refresh-form.ts';
import { interfaceNote } from './interface.view.ts';
import { openFromLine } from './ordering.ts';
import {
  PREREG_KEYS,
  type PreregFilter,
  type PreregQuery,
  preregPage,
  preregRecords,
} from './prereg.view.ts';
import { requestIssueText } from './request-issue.view.ts';

/* Preregistrations: a person searches with their own account, and only they see the result. */

const PAGE = 20;
/** Rows of a table in Slack. */
const MAX_LIMIT = 100;
/** A search only reads, so its timeout is shorter than that of an order. */
const SEARCH_MS = 20_000;
/** A view has to be opened within 3 seconds of the click. */
const OPEN_MS = 2_300;

const BOTH: AvailableInterfaces = { json: true, xml: true };

/** Fields of a record that only the XML interface returns, when they are asked for, under its names. */
const XML_KEYS = ['ownerc', 'zonec'] as const;

/** Keys to sort by: the single values that a record has by default. The document lists none. */
const ORDER_KEYS = [
  ...['name', 'created', 'updated', 'status', 'phase', 'period', 'order_reference'],
  ...['recommended', 'confirmed'],
];

const keyName = z.string().regex(/^[A-Za-z][\w.]{0,59}$/);
const filterValue = z.string().min(1).max(253);

/** The value of a paging button: the search, with another offset. It only reads. */
const query = z.object({
  filters: z.partialRecord(z.enum(PREREG_FILTERS), filterValue),
  operator: z.enum(['EQUAL', 'like']).optional(),
  order: keyName.optional(),
  children: z.boolean(),
  keys: z.array(keyName).max(20),
  offset: z.int().nonnegative(),
  limit: z.int().positive().max(MAX_LIMIT),
});

/** The parts of a search that only one interface documents: the field, and its label. */
type SearchTies = Readonly<Record<Interface, readonly { readonly field: string; readonly what: string }[]>>;

function tiesOf({ operator, order, keys }: Pick<PreregQuery, 'operator' | 'order' | 'keys'>): SearchTies {
  const further = keys.find((key) => !PREREG_KEYS.some((known) => known === key));
  return {
    json: operator === 'EQUAL' ? [{ field: 'operator', what: 'the operator EQUAL' }] : [],
    xml: [
      ...(operator === 'like' ? [{ field: 'operator', what: 'the operator like' }] : []),
      ...(order === undefined ? [] : [{ field: 'order', what: 'an order' }]),
      ...(further === undefined ? [] : [{ field: 'key', what: `the key ${further}` }]),
    ],
  };
}

const WILDCARD = /[%*]/;
const PART = /^[\p{L}\p{M}\p{Nd}%*-]{1,63}$/u;
const MOMENT = /^(\d{4}-\d\d-\d\d)(?:[ T](\d\d:\d\d)(:\d\d)?)?$/;

/** A label as it is sent. */
function labelOf(text: string): string | undefined {
  if (!PART.test(text)) return undefined;
  if (WILDCARD.test(text)) return text.toLowerCase();
  const host = parseDomainName(`${text}.example`);
  return host.ok ? host.value.ascii.slice(0, -'.example'.length) : undefined;
}

/** A filter's value as it is sent, or what is wrong with it. */
function readFilter(
  key: PreregFilter,
  text: string,
): { readonly value: string } | { readonly problem: string } {
  if (key === 'sld') {
    const value = labelOf(text);
    return value === undefined
      ? { problem: 'Give the name without its ending: letters, digits and hyphens, such as cafe.' }
      : { value };
  }
  if (key === 'tld' || key === 'subtld') {
    const labels = text.replace(/\.$/, '').split('.').map(labelOf);
    if (labels.includes(undefined)) return { problem: 'Give the ending alone, such as rest.' };
    return key === 'tld' && labels.length > 1
      ? { problem: 'Give the last part alone, such as uk; co.uk belongs in the field below.' }
      : { value: labels.join('.') };
  }
  if (key === 'id') {
    return /^[\w%*-]{1,64}$/.test(text) ? { value: text } : { problem: 'Give the preregistration’s id.' };
  }
  const [, day, time, seconds = ':00'] = MOMENT.exec(text) ?? [];
  if (day !== undefined) return { value: `${day} ${time === undefined ? '00:00:00' : `${time}${seconds}`}` };
  return WILDCARD.test(text) && /^[\d :T%*-]{1,40}$/.test(text)
    ? { value: text }
    : { problem: 'Give the moment as 2027-03-01 12:00:00, or the day alone.' };
}

/** XML for what it alone documents, and where the account does not reach JSON. */
function interfaceFor(wanted: PreregQuery, reach: AvailableInterfaces): Interface {
  return tiesOf(wanted).xml.length > 0 || !reach.json ? 'xml' : 'json';
}

type ReadQuery = { readonly query: PreregQuery } | { readonly errors: FieldErrors };

const NO_WILDCARDS =
  'EQUAL finds exactly what is typed: % and * stand for nothing else. Give the whole value, or choose the operator like, which goes over XML.';

/** Checks a search as a whole: its values, and whether one interface can carry it out. */
function checkQuery(typed: PreregQuery, reach: AvailableInterfaces): ReadQuery {
  const errors: Record<string, string> = {};
  const ties = tiesOf(typed);
  const [xml] = ties.xml;
  const via = interfaceFor(typed, reach);
  if (xml !== undefined && ties.json.length > 0) {
    errors['operator'] =
      `EQUAL goes over the JSON interface alone, and ${xml.what} over the XML interface alone. Choose like, or leave the other out.`;
  } else if (xml !== undefined && !reach.xml) {
    errors[xml.field] =
      'This goes over the service’s XML interface alone, whose address is not set here. Ask whoever runs me to set SERVICE_XML_URL.';
  }
  const filters: Partial<Record<PreregFilter, string>> = {};
  for (const key of PREREG_FILTERS) {
    const text = typed.filters[key];
    if (text === undefined) continue;
    const read = readFilter(key, text);
    if ('problem' in read) errors[key] = read.problem;
    else if (via === 'json' && WILDCARD.test(read.value)) errors[key] = NO_WILDCARDS;
    else filters[key] = read.value;
  }
  return Object.keys(errors).length > 0 ? { errors } : { query: { ...typed, filters } };
}

/** `cafe`, `cafe.rest`, `cafe.co.uk` or `.rest`. */
function queryOfText(text: string, reach: AvailableInterfaces): ReadQuery {
  const at = text.indexOf('.');
  const sld = at === -1 ? text : text.slice(0, at);
  const ending = at === -1 ? '' : text.slice(at + 1).replace(/\.$/, '');
  const filters = {
    ...(sld === '' ? {} : { sld }),
    ...(at === -1 ? {} : { [ending.includes('.') ? 'subtld' : 'tld']: ending }),
  };
  return checkQuery({ filters, children: true, keys: [], offset: 0, limit: PAGE }, reach);
}

interface Searcher {
  readonly accountId: string;
  readonly client: ServiceClient;
  readonly reach: AvailableInterfaces;
}

/** The interfaces of the person's active account; undefined when none is linked. */
async function searcherOf(call: Interaction): Promise<Searcher | undefined> {
  const account = await call.account();
  const client = account === undefined ? undefined : await call.deps.accounts.clientFor(account.id);
  if (account === undefined || client === undefined) return undefined;
  const reach = taskInterfaces(preregSearch, call.deps.orders.interfacesOf(account));
  return { accountId: account.id, client, reach };
}

/** @throws {ServiceError} */
async function ask(
  call: Interaction,
  { accountId, client }: Searcher,
  { filters, order, children, keys, offset, limit }: PreregQuery,
  via: Interface,
): Promise<Preregistrations> {
  const input = {
    view: { children, offset, limit },
    filters: PREREG_FILTERS.flatMap((key) => {
      const value = filters[key];
      return value === undefined
        ? []
        : [{ key, value: key === 'id' && isCount(value) ? Number(value) : value }];
    }),
    ...(order === undefined ? {} : { order: { key: order, mode: 'asc' as const } }),
  };
  // The document shows no place for it in XML.
  const ctid = via === 'json' ? randomUUID() : undefined;
  const { output } = await client.run(preregSearch, input, {
    ctid,
    keys,
    interface: via,
    timeoutMs: SEARCH_MS,
  });
  await call.deps.accounts.accepted(accountId);
  return output;
}

function isCount(text: string): boolean {
  return /^\d{1,15}$/.test(text);
}

/** Searches and renders the page, or explains why there is none. */
async function search(call: Interaction, wanted: PreregQuery): Promise<Message> {
  const searcher = await searcherOf(call);
  if (searcher === undefined) return NOT_LINKED;
  const via = interfaceFor(wanted, searcher.reach);
  try {
    return preregPage(wanted, await ask(call, searcher, wanted, via), via);
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    call.deps.log.info({ err: error }, 'a search for preregistrations failed');
    return textMessage(explain(error));
  }
}

function explain(error: ServiceError): string {
  const said = [error.code, error.text].filter((part) => part !== undefined && part !== '').join(' ');
  const transaction = error.stid === undefined ? '' : ` Transaction ${code(error.stid)}.`;
  const quoted = `${said === '' ? '' : ` It says: ${quote(said, 500)}`}${transaction}`;
  switch (error.kind) {
    case 'auth':
      return `The service did not accept your linked account. Renew it with \`/domain link\`, then search again.${quoted}`;
    case 'refused':
      return `The service refused this search.${quoted}`;
    case 'busy':
      return `The service is busy. Wait a minute, then search again.${quoted}`;
    case 'token_used':
      return `The one-time token of this half minute is used up. Search again in ${count(Math.ceil((error.retryAfterMs ?? 0) / 1_000), 'second')}.`;
    case 'unsupported':
    case 'invalid_input':
      return `This search cannot be sent. ${escapeText(requestIssueText(error.issue ?? NOT_SENDABLE))}`;
    case 'not_sent':
    case 'unknown_outcome':
    case 'invalid_response':
      return said === ''
        ? `The service gave no answer that can be read. Search again in a few minutes; nothing was changed.${error.ctid === undefined ? '' : ` Client transaction ${code(error.ctid)}.`}`
        : `The service gave no clear answer. Search again in a few minutes; nothing was changed.${quoted}`;
  }
}

async function runPrereg(call: CommandCall): Promise<void> {
  const [text, ...more] = call.words;
  if (text === undefined) return openFromLine(call, preregForm, {});
  const searcher = await searcherOf(call);
  if (searcher === undefined) return call.respond(NOT_LINKED);
  const read = more.length > 0 ? undefined : queryOfText(text, searcher.reach);
  if (read !== undefined && 'query' in read) return call.respond(await search(call, read.query));
  if (read !== undefined && Object.values(read.errors).includes(NO_WILDCARDS)) {
    const advice = searcher.reach.xml
      ? 'Give the whole name, or open the form with `/domain prereg` and choose the operator like.'
      : 'Give the whole name.';
    return call.respond(
      `Nothing was searched for. Your account searches for exactly what is typed, so % and * stand for nothing. ${advice}`,
    );
  }
  await call.respond(
    'Give one name to search for, such as `/domain prereg cafe` or `/domain prereg cafe.rest`. `/domain prereg` alone opens the form.',
  );
}

async function turnPage(call: ActionCall): Promise<void> {
  const wanted = readButton(call.value);
  if (wanted === undefined) {
    return call.respond('This list cannot be turned any more. Search again with `/domain prereg`.');
  }
  await call.respond(await search(call, wanted), { replace: true });
}

function readButton(value: string): PreregQuery | undefined {
  try {
    return query.parse(JSON.parse(value));
  } catch {
    return undefined;
  }
}

/** Shows all records of a name in full. They are looked up again, because a button carries no content. */
async function openRecord(call: ActionCall): Promise<void> {
  const clickedAt = performance.now();
  const name = call.value;
  const searcher = await searcherOf(call);
  if (searcher === undefined) return call.respond(NOT_LINKED);
  const [label = ''] = name.split('.');
  const via: Interface = searcher.reach.json ? 'json' : 'xml';
  const wanted: PreregQuery = {
    filters: { sld: label },
    children: true,
    keys: [...PREREG_KEYS, ...(via === 'xml' ? XML_KEYS : [])],
    offset: 0,
    limit: MAX_LIMIT,
  };
  let records: readonly Preregistration[];
  try {
    records = (await ask(call, searcher, wanted, via)).records.filter((record) => record['name'] === name);
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    return call.respond(explain(error));
  }
  if (records.length === 0) {
    return call.respond(
      `There is no preregistration of ${code(name)} any more. Search again with \`/domain prereg\`.`,
    );
  }
  const blocks = preregRecords(name, records, call.deps.now());
  if (performance.now() - clickedAt < OPEN_MS) return call.open(noticeView('Preregistration', blocks));
  await call.respond(message(`Preregistration ${escapeText(name)}`, blocks));
}

const options = (...values: readonly string[]) => values.map((value) => ({ value, text: value }));

const A_MOMENT = { kind: 'text', optional: true, placeholder: '2027-03-01 00:00:00' } as const;

/** The search's form, with what only one interface has (service API, section "Preregistration search"). */
function fieldsFor({ json, xml }: AvailableInterfaces): readonly Field[] {
  return [
    ...FILTER_FIELDS,
    operatorField(json, xml),
    ...(xml ? ORDER_FIELDS : []),
    ...PAGE_FIELDS,
    columnsField(xml),
    ...(xml ? [OTHER_KEYS] : []),
  ];
}

const FILTER_FIELDS: readonly Field[] = [
  {
    name: 'sld',
    label: 'Name',
    kind: 'text',
    optional: true,
    placeholder: 'cafe',
    hint: 'Without its ending. Empty: all names.',
  },
  { name: 'tld', label: 'Ending', kind: 'text', optional: true, placeholder: 'rest' },
  { name: 'subtld', label: 'Ending of several parts', kind: 'text', optional: true, placeholder: 'co.uk' },
  { name: 'id', label: 'Id of the preregistration', kind: 'text', optional: true },
  { name: 'prereg_config.confirmation_start', label: 'Confirmation starts', ...A_MOMENT },
  { name: 'prereg_config.confirmation_end', label: 'Confirmation ends', ...A_MOMENT },
  { name: 'prereg_config.period_start', label: 'Phase starts', ...A_MOMENT },
  { name: 'prereg_config.period_end', label: 'Phase ends', ...A_MOMENT },
];

function operatorField(json: boolean, xml: boolean): Field {
  return {
    name: 'operator',
    label: 'How values are compared',
    kind: 'choice',
    optional: true,
    options: [
      ...(json ? [{ value: 'EQUAL', text: 'EQUAL: exactly the same' }] : []),
      ...(xml ? [{ value: 'like', text: 'like: alike, as the service sees it' }] : []),
    ],
    hint: 'EQUAL is what the JSON interface shows, like what the XML interface shows. With EQUAL, % and * stand for nothing.',
    dispatches: true,
  };
}

const ORDER_FIELDS: readonly Field[] = [
  {
    name: 'order',
    label: 'Sorted by',
    kind: 'choice',
    optional: true,
    options: options(...ORDER_KEYS),
    dispatches: true,
  },
  {
    name: 'order_mode',
    label: 'Direction',
    kind: 'choice',
    optional: true,
    options: [{ value: 'asc', text: 'Ascending (asc)' }],
    hint: 'The document shows no other direction.',
  },
];

const PAGE_FIELDS: readonly Field[] = [
  {
    name: 'children',
    label: 'Whose',
    kind: 'choices',
    optional: true,
    options: [{ value: 'true', text: 'Those of sub-users too (children)' }],
  },
  {
    name: 'limit',
    label: 'Records a page',
    kind: 'number',
    optional: true,
    hint: `1 to ${MAX_LIMIT}; ${PAGE} when left empty.`,
  },
];

function columnsField(xml: boolean): Field {
  return {
    name: 'keys',
    label: 'Show as well',
    kind: 'choices',
    optional: true,
    options: [
      { value: 'tmch_mark', text: 'Trademark claim (tmch_mark)' },
      { value: 'extension', text: 'Extension data (extension)' },
      { value: 'nsentry', text: 'Nameserver entries (nsentry)' },
      ...(xml
        ? [
            { value: 'ownerc', text: 'Owner contact (ownerc)' },
            { value: 'zonec', text: 'Zone contact (zonec)' },
          ]
        : []),
    ],
  };
}

const OTHER_KEYS: Field = {
  name: 'key',
  label: 'Other keys',
  kind: 'lines',
  optional: true,
  hint: 'Further fields of a record by their names at the service, one a line.',
};

/** People type an ending with a dot in front. */
function typedFilter(values: FormValues, key: PreregFilter): string | undefined {
  const text = textOf(values, key);
  return key === 'tld' || key === 'subtld' ? text?.replace(/^\./, '') : text;
}

/** A search as it was typed, with the issues of its shape. */
function typedQuery(values: FormValues): {
  readonly typed: PreregQuery;
  readonly errors: Record<string, string>;
} {
  const errors: Record<string, string> = {};
  const limitText = textOf(values, 'limit') ?? String(PAGE);
  const limit = isCount(limitText) ? Number(limitText) : 0;
  if (limit < 1 || limit > MAX_LIMIT) {
    errors['limit'] = `Give a whole number from 1 to ${MAX_LIMIT}: a message shows no more records.`;
  }
  const others = linesOf(values, 'key');
  const wrong = others.find((key) => !keyName.safeParse(key).success);
  if (wrong !== undefined || others.length > 10) {
    errors['key'] = 'Give at most 10 keys, one a line, of letters, digits and _, such as zonec.';
  }
  const operator = textOf(values, 'operator');
  const typed: PreregQuery = {
    filters: Object.fromEntries(PREREG_FILTERS.map((key) => [key, typedFilter(values, key)])),
    operator: operator === 'EQUAL' || operator === 'like' ? operator : undefined,
    order: ORDER_KEYS.find((key) => key === textOf(values, 'order')),
    children: values['children'] === undefined || linesOf(values, 'children').includes('true'),
    keys: [...new Set([...linesOf(values, 'keys'), ...others])].filter(
      (key) => keyName.safeParse(key).success,
    ),
    offset: 0,
    limit,
  };
  return { typed, errors };
}

const preregForm: FormFeature<'prereg'> = {
  form: { name: 'prereg', title: 'Find preregistrations', submit: 'Search', fields: fieldsFor(BOTH) },
  // A search is no order, so it never goes out with the team’s account.
  refusal: async (call) => ((await call.account()) === undefined ? NOT_LINKED : undefined),

  async render(call, _origin, values) {
    const account = await call.account();
    const reach = (await searcherOf(call))?.reach ?? BOTH;
    const because = tiesOf(typedQuery(values).typed).xml[0]?.what;
    return {
      form: { ...preregForm.form, fields: fieldsFor(reach) },
      values: { children: ['true'], ...values },
      intro: [
        context(interfaceNote(account, reach, because, 'Searches with like, an order or further keys')),
      ],
    };
  },

  async submit(call) {
    const { typed, errors } = typedQuery(call.values);
    const reach = (await searcherOf(call))?.reach ?? BOTH;
    const read = checkQuery(typed, reach);
    const all = { ...errors, ...('errors' in read ? read.errors : {}) };
    if (Object.keys(all).length > 0 || 'errors' in read) return { errors: all };
    return { say: await search(call, read.query) };
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
    { id: 'prereg_open', run: openRecord },
    refreshing('operator', preregForm),
    refreshing('order', preregForm),
  ],
} as const satisfies Feature;
