import { z } from 'zod';
import { ServiceError } from '../../client/errors.ts';
import { type Preregistrations, preregSearch } from '../../client/tasks/prereg.ts';
import { parseHostName } from '../../zones/names.ts';
import {
  type ActionCall,
  activeAccount,
  type CommandCall,
  type Feature,
  type FormFeature,
  type Interaction,
  linesOf,
  textOf,
} from '../feature.ts';
import { NOT_LINKED } from '../serve.ts';
import type { FormValues } from '../views/form.ts';
import { count, escapeText, type Message, say } from '../views/kit.ts';
import { PREREG_KEYS, type PreregQuery, preregPage } from '../views/prereg.ts';
import { openFromLine } from './ordering.ts';

/*
 * Preregistrations: searched with the person's own account, told to that person alone.
 */

const PAGE = 20;
/** A search only reads, so it is given up sooner than an order. */
const SEARCH_MS = 20_000;

/** What a paging button carries: the search again, from another place. It reads; nothing is bought with it. */
const query = z.object({
  sld: z.string().max(63).optional(),
  tld: z.string().max(253).optional(),
  keys: z.array(z.enum(PREREG_KEYS)),
  offset: z.int().nonnegative(),
});

const PART = /^[\p{L}\p{M}\p{Nd}%*-]{1,63}$/u;

/** One label as it goes out; `%` and `*`, which some accounts may search with, stay. */
function labelOf(text: string): string | undefined {
  if (!PART.test(text)) return undefined;
  if (/[%*]/.test(text)) return text.toLowerCase();
  const host = parseHostName(`${text}.example`);
  return host.ok ? host.value.ascii.slice(0, -'.example'.length) : undefined;
}

type ReadQuery =
  | { readonly query: PreregQuery }
  | { readonly errors: Readonly<Partial<Record<'sld' | 'tld', string>>> };

function readQuery(sld: string | undefined, tld: string | undefined, keys: readonly string[]): ReadQuery {
  const zone = tld?.replace(/\.$/, '');
  const name = sld === undefined ? undefined : labelOf(sld);
  const labels = zone === undefined || zone === '' ? [] : zone.split('.').map(labelOf);
  const errors = {
    ...(sld !== undefined && name === undefined
      ? { sld: 'Give the name without its ending: letters, digits and hyphens, such as cafe.' }
      : {}),
    ...(labels.includes(undefined) ? { tld: 'Give the ending alone, such as rest.' } : {}),
  };
  if (Object.keys(errors).length > 0) return { errors };
  return {
    query: {
      ...(name === undefined ? {} : { sld: name }),
      ...(labels.length === 0 ? {} : { tld: labels.join('.') }),
      keys: PREREG_KEYS.filter((key) => keys.includes(key)),
      offset: 0,
    },
  };
}

/** `cafe`, `cafe.rest` or `.rest`. */
function queryOfText(text: string): ReadQuery {
  const at = text.indexOf('.');
  const sld = at === -1 ? text : text.slice(0, at);
  return readQuery(sld === '' ? undefined : sld, at === -1 ? undefined : text.slice(at + 1), []);
}

/** Searches and lays the page out, or says in words why there is none. */
async function search(call: Interaction, wanted: PreregQuery): Promise<Message> {
  const account = await activeAccount(call);
  const client = account === undefined ? undefined : await call.deps.accounts.clientFor(account.id);
  if (account === undefined || client === undefined) {
    return NOT_LINKED;
  }
  const { sld, tld, keys, offset } = wanted;
  const filters = [
    ...(sld === undefined ? [] : [{ key: 'sld' as const, value: sld }]),
    ...(tld === undefined ? [] : [{ key: 'tld' as const, value: tld }]),
  ];
  let found: Preregistrations;
  try {
    const input = { view: { children: true, offset, limit: PAGE }, filters };
    found = (await client.run(preregSearch, input, { keys, timeoutMs: SEARCH_MS })).output;
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    call.deps.log.info({ err: error }, 'a search for preregistrations failed');
    return say(explain(error));
  }
  await call.deps.accounts.accepted(account.id);
  return preregPage(wanted, found, PAGE);
}

function explain(error: ServiceError): string {
  const said = [error.code, error.text].filter((part) => part !== undefined && part !== '').join(' ');
  const quoted = said === '' ? '' : ` It says: ${escapeText(said)}`;
  switch (error.kind) {
    case 'auth':
      return `The service did not accept your linked account. Renew it with \`/domain link\`, then search again.${quoted}`;
    case 'refused':
      return `The service refused this search.${quoted}`;
    case 'busy':
      return 'The service is busy. Wait a minute, then search again.';
    case 'token_used':
      return `The one-time token of this half minute is used up. Search again in ${count(Math.ceil((error.retryAfterMs ?? 0) / 1_000), 'second')}.`;
    case 'unsupported':
    case 'invalid_input':
      return `This search cannot be sent: ${escapeText(error.message)}.`;
    case 'not_sent':
    case 'unknown_outcome':
    case 'invalid_response':
      return 'The service gave no answer that can be read. Search again in a few minutes; nothing was changed.';
  }
}

async function runPrereg(call: CommandCall): Promise<void> {
  const [text, ...more] = call.words;
  if (text === undefined) return openFromLine(call, preregForm, {});
  const read = more.length > 0 ? undefined : queryOfText(text);
  if (read === undefined || 'errors' in read) {
    return call.tell(
      say(
        'Give one name to search for, such as `/domain prereg cafe` or `/domain prereg cafe.rest`. `/domain prereg` alone opens the form.',
      ),
    );
  }
  await call.tell(await search(call, read.query));
}

async function turnPage(call: ActionCall): Promise<void> {
  const wanted = readButton(call.value);
  if (wanted === undefined) {
    return call.tell(say('This list cannot be turned any more. Search again with `/domain prereg`.'));
  }
  await call.tell(await search(call, wanted), { replace: true });
}

function readButton(value: string): PreregQuery | undefined {
  try {
    const { sld, tld, ...rest } = query.parse(JSON.parse(value));
    return { ...rest, ...(sld === undefined ? {} : { sld }), ...(tld === undefined ? {} : { tld }) };
  } catch {
    return undefined;
  }
}

const form = {
  name: 'prereg',
  title: 'Find preregistrations',
  submit: 'Search',
  fields: [
    {
      name: 'sld',
      label: 'Name',
      kind: 'text',
      optional: true,
      placeholder: 'cafe',
      hint: 'Without its ending. Empty: all names.',
    },
    { name: 'tld', label: 'Ending', kind: 'text', optional: true, placeholder: 'rest' },
    {
      name: 'keys',
      label: 'Show as well',
      kind: 'choices',
      optional: true,
      options: [
        { value: 'tmch_mark', text: 'Trademark claim (tmch_mark)' },
        { value: 'extension', text: 'Extension data (extension)' },
        { value: 'nsentry', text: 'Nameserver entries (nsentry)' },
      ],
    },
  ],
} as const;

const preregForm: FormFeature = {
  form,
  needs: 'linked',
  render: (_call, origin, values: FormValues) => ({ form, origin, values }),
  async submit(call) {
    const { values } = call;
    const read = readQuery(
      textOf(values, 'sld'),
      textOf(values, 'tld')?.replace(/^\./, ''),
      linesOf(values, 'keys'),
    );
    return 'errors' in read
      ? { kind: 'errors', errors: read.errors }
      : { kind: 'done', say: await search(call, read.query) };
  },
};

export const prereg: Feature = {
  commands: [
    {
      name: 'prereg',
      usage: 'prereg [TEXT]',
      summary: 'Find preregistrations',
      example: '/domain prereg cafe.rest',
      needs: 'linked',
      run: runPrereg,
    },
  ],
  forms: [preregForm],
  actions: [
    { id: 'prereg_next', needs: 'linked', run: turnPage },
    { id: 'prereg_previous', needs: 'linked', run: turnPage },
  ],
};
