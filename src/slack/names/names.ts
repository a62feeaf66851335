import { z } from 'zod';
import { countDaysBetween, getExpiryDay } from '../../expiry/days.ts';
import { findQuote } from '../../money/prices.ts';
import { sumRenewals } from '../../money/spend.ts';
import {
  hasFindingFilter,
  isNone,
  matchesDepartedOwners,
  matchesFindings,
  type NameFilter,
  parseFilter,
} from '../../names/filter.ts';
import { countNames, DETAIL_COLUMNS, formatDetailCells } from '../../names/portfolio.ts';
import type { ListedAssessedName, NameQuery, PortfolioEntry } from '../../names/ports.ts';
import { listFindingCodes, summarizePosture } from '../../names/posture.ts';
import { formatCalendarDay, getUtcDay } from '../../zones/calendar-day.ts';
import { formatDay } from '../expiry/expiry.view.ts';
import { renewManyForm } from '../expiry/reminders.ts';
import {
  type ActionCall,
  type CommandCall,
  type Feature,
  type Interaction,
  toFormOrigin,
} from '../feature.ts';
import { LIMITS, type Message, textMessage } from '../kit/blocks.ts';
import { formatCsvFile } from '../kit/csv-file.ts';
import { findNearest } from '../kit/parse.ts';
import { openForm } from '../open-form.ts';
import { sendFile } from '../send-file.ts';
import { nameEditForm } from './name-edit.ts';
import { namesImportForm } from './names-import.ts';
import { describeExport, filterIssueText, NAMES_PER_PAGE, NO_NAMES, namesMessage } from './portfolio.view.ts';

/* The filtered list of names, and actions on all of them. */

/** The value of a page button. Existing messages contain these fields, so their names can't change. */
const pageStateSchema = z.object({
  filter: z.string(),
  /** Number of names before the page. */
  offset: z.number(),
  /** Cursor: the name before or after the page. Its expiry is `at`. Missing on the first page. */
  after: z.string().optional(),
  at: z.string().optional(),
  isBackward: z.boolean().optional(),
});
type PageState = z.infer<typeof pageStateSchema>;

const EXPORT_BATCH_SIZE = 5_000;
const MAX_EXPORT_ROWS = 200_000;

type ParsedQuery =
  | {
      readonly query: NameQuery;
      readonly loadAssessedNames: () => Promise<readonly ListedAssessedName[]>;
    }
  | { readonly issueMessage: Message };

/** Parses a filter and resolves its owners. */
export async function parseQuery(call: Interaction, text: string): Promise<ParsedQuery> {
  const parsed = parseFilter(text);
  if (!parsed.ok) return { issueMessage: formatFilterIssues(parsed.issues) };
  const owners = await findOwners(call, parsed.filter);
  if ('unknownOwner' in owners)
    return { issueMessage: formatFilterIssues([{ code: 'unknown_owner', value: owners.unknownOwner }]) };
  const { portfolio, now } = call.context;
  const query = { filter: parsed.filter, owners: owners.ids, now: now() };
  const assessedNames = hasFindingFilter(parsed.filter)
    ? await portfolio.listAssessedNames(query)
    : undefined;
  const matchingNames = assessedNames?.filter((name) => matchesFindings(parsed.filter, name, query.now));
  return {
    loadAssessedNames: async () => matchingNames ?? portfolio.listAssessedNames(query),
    query: {
      ...query,
      ...(matchingNames && { names: matchingNames.map(({ name }) => name) }),
      cursor: undefined,
      isBackward: false,
      limit: NAMES_PER_PAGE,
    },
  };
}

function formatFilterIssues(issues: readonly Parameters<typeof filterIssueText>[0][]): Message {
  return textMessage(issues.map((issue) => filterIssueText(issue, findNearest)).join('\n'));
}

const PERSON_ID_PATTERN = /^<?@?([UW][A-Z0-9]{2,})(?:\|[^>]*)?>?$/;

/** Finds people by their id, by `me`, or by an owner's display name. */
async function findOwners(
  { context, person }: Interaction,
  { owners }: NameFilter,
): Promise<{ readonly ids: readonly string[] } | { readonly unknownOwner: string }> {
  const ids: string[] = [];
  for (const value of owners) {
    const id = PERSON_ID_PATTERN.exec(value)?.[1];
    const word = value.replace(/^@/, '').toLowerCase();
    if (word === 'me') ids.push(person.id);
    else if (isNone(word) || matchesDepartedOwners(word)) ids.push(word);
    else if (id !== undefined) ids.push(id);
    else {
      const matchingIds = await findOwnersByName(context, word);
      if (matchingIds.length === 0) return { unknownOwner: value };
      ids.push(...matchingIds);
    }
  }
  return { ids };
}

async function findOwnersByName(context: Interaction['context'], ownerName: string): Promise<string[]> {
  const ids = (await context.portfolio.listOwners()).map(({ id }) => id);
  const names = await Promise.all(ids.map((id) => context.directory.findName(id).catch(() => undefined)));
  return ids.filter((_, index) => {
    const words = (names[index] ?? '').toLowerCase().split(/\s+/);
    return [...words, words.join(''), words.join('.'), words.join(' ')].includes(ownerName);
  });
}

async function runNames(call: CommandCall): Promise<void> {
  const [firstWord, ...rest] = call.words;
  if (firstWord === 'export') return exportNames(call, rest.join(' '));
  if (firstWord === 'import' && rest.length === 0) return openForm(call, namesImportForm, toFormOrigin(call));
  await call.respond(await renderPage(call, { filter: call.words.join(' '), offset: 0 }));
}

function parsePageState(call: ActionCall): PageState {
  return pageStateSchema.parse(JSON.parse(call.value));
}

async function turnPage(call: ActionCall): Promise<void> {
  await call.respond(await renderPage(call, parsePageState(call)), { replace: true });
}

async function renderPage(call: Interaction, state: PageState): Promise<Message> {
  const parsed = await parseQuery(call, state.filter);
  if ('issueMessage' in parsed) return parsed.issueMessage;
  const { portfolio, prices, directory, loadSettings, now } = call.context;
  const isBackward = state.isBackward ?? false;
  const cursor =
    state.after === undefined
      ? undefined
      : { name: state.after, expiresAt: state.at === undefined ? undefined : new Date(state.at) };
  // Loads one more name than fits on the page, to find out whether there is another page.
  const query = { ...parsed.query, cursor, isBackward, limit: NAMES_PER_PAGE + 1 };
  const [rows, zones, locale, { reminderTimezone }] = await Promise.all([
    portfolio.listPage(query),
    portfolio.listZones(query),
    directory.findLocale(call.person.id),
    loadSettings(),
  ]);
  const priceList = await prices.listForZones(zones.map(({ zone }) => zone));
  const entries = isBackward ? rows.slice(0, NAMES_PER_PAGE).reverse() : rows.slice(0, NAMES_PER_PAGE);
  const total = countNames(zones);
  const hasMore = rows.length > NAMES_PER_PAGE;
  // If names are added or removed, the offset becomes wrong, but the cursor never skips a name.
  const offset = isBackward && !hasMore ? 0 : Math.min(state.offset, Math.max(0, total - entries.length));
  const [firstEntry, lastEntry] = [entries[0], entries.at(-1)];
  const encodeCursor = (entry: PortfolioEntry | undefined, newOffset: number, isPrevious: boolean) =>
    entry === undefined ? undefined : JSON.stringify(toPageState(state.filter, entry, newOffset, isPrevious));
  const today = getUtcDay(now());
  const findRenewalPrice = (name: string) => findQuote(priceList, { name, task: 'renew' }, today)?.amount;
  return namesMessage({
    hasService: call.context.hasService,
    filter: state.filter,
    actionValue: JSON.stringify({ filter: state.filter, offset: 0 } satisfies PageState),
    total,
    offset,
    names: entries.map((entry) => ({
      ...entry,
      expiry: formatExpiry(entry, now(), reminderTimezone),
      renewalPrice: entry.deletedAt === undefined ? findRenewalPrice(entry.name) : undefined,
    })),
    // A deleted name needs a restore, which has a different price.
    renewalCost: sumRenewals(
      priceList,
      zones
        .map((zoneCount) => ({ zone: zoneCount.zone, count: zoneCount.count - zoneCount.deletedCount }))
        .filter(({ count: renewableCount }) => renewableCount > 0),
      today,
    ),
    deletedCount: zones.reduce((sum, { deletedCount }) => sum + deletedCount, 0),
    previousPageState:
      cursor === undefined || (isBackward && !hasMore)
        ? undefined
        : encodeCursor(firstEntry, Math.max(0, offset - NAMES_PER_PAGE), true),
    nextPageState:
      hasMore || isBackward ? encodeCursor(lastEntry, offset + entries.length, false) : undefined,
    locale,
  });
}

function toPageState(filter: string, entry: PortfolioEntry, offset: number, isBackward: boolean): PageState {
  return {
    filter,
    offset,
    after: entry.name,
    ...(entry.expiresAt === undefined ? {} : { at: entry.expiresAt.toISOString() }),
    ...(isBackward ? { isBackward } : {}),
  };
}

function formatExpiry({ expiresAt, expirySource }: PortfolioEntry, now: Date, timeZone: string) {
  if (expiresAt === undefined) return undefined;
  const source = expirySource === 'rdap' || expirySource === 'order' ? expirySource : 'person';
  const lastDay = getExpiryDay(expiresAt, source, timeZone);
  const today = formatCalendarDay(now, timeZone);
  return { day: formatDay(lastDay, today), daysLeft: countDaysBetween(today, lastDay) };
}

interface MenuNames {
  /** In the order of the list, as many as fit in a menu. */
  readonly names: readonly string[];
  readonly total: number;
}

async function findMenuNames(call: ActionCall): Promise<MenuNames | undefined> {
  const parsed = await parseQuery(call, parsePageState(call).filter);
  if ('issueMessage' in parsed) {
    await call.respond(parsed.issueMessage);
    return undefined;
  }
  const { portfolio } = call.context;
  const [rows, zones] = await Promise.all([
    portfolio.listPage({ ...parsed.query, limit: LIMITS.options }),
    portfolio.listZones(parsed.query),
  ]);
  return { names: rows.map(({ name }) => name), total: countNames(zones) };
}

async function openRenewForm(call: ActionCall): Promise<void> {
  const menu = await findMenuNames(call);
  if (menu === undefined) return;
  const renewable = await call.context.expiry.filterRenewable(menu.names);
  const names = renewable.map(({ domain }) => domain.name);
  if (names.length === 0) return call.respond(NO_NAMES.toRenew);
  await openForm(call, renewManyForm, toFormOrigin(call), { names, period: '1', found: String(menu.total) });
}

async function openEditForm(call: ActionCall): Promise<void> {
  const menu = await findMenuNames(call);
  if (menu === undefined) return;
  const { names, total } = menu;
  if (names.length === 0) return call.respond(NO_NAMES.toEdit);
  await openForm(call, nameEditForm, toFormOrigin(call), { names, found: String(total) });
}

/** An import reads only the columns that people can set. */
const EXPORT_COLUMNS = ['name', ...DETAIL_COLUMNS, 'expires', 'registrar', 'findings'];

async function exportNames(call: Interaction, text: string): Promise<void> {
  const parsed = await parseQuery(call, text);
  if ('issueMessage' in parsed) return call.respond(parsed.issueMessage);
  const { portfolio, now } = call.context;
  const { names: assessedNames } = summarizePosture(await parsed.loadAssessedNames(), now());
  const findings = new Map(assessedNames.map((entry) => [entry.name, listFindingCodes(entry).join(' ')]));
  const csvRows: (readonly string[])[] = [EXPORT_COLUMNS];
  let { query } = parsed;
  while (csvRows.length <= MAX_EXPORT_ROWS) {
    const rows = await portfolio.listPage({ ...query, limit: EXPORT_BATCH_SIZE });
    for (const row of rows) {
      const { name, expiresAt, registrar = '' } = row;
      const expires = expiresAt === undefined ? '' : getUtcDay(expiresAt);
      csvRows.push([name, ...formatDetailCells(row), expires, registrar, findings.get(name) ?? '']);
    }
    const cursor = rows.at(-1);
    if (cursor === undefined || rows.length < EXPORT_BATCH_SIZE) break;
    query = { ...query, cursor };
  }
  if (csvRows.length === 1) return call.respond(NO_NAMES.toExport);
  await call.respond(
    await sendFile(call, {
      text: await formatCsvFile(csvRows),
      filename: `domain-steward-names-${getUtcDay(call.context.now())}.csv`,
      ...describeExport(csvRows.length - 1),
    }),
  );
}

export const names = {
  commands: [
    {
      usage: 'names [FILTER…]',
      summary:
        'Find names by tag, owner, zone, registrar, expiry, finding or text; `names export` and `names import` use CSV',
      example: '/domain names tag:brand expiring<60',
      run: runNames,
    },
  ],
  actions: [
    { id: 'names_next', run: turnPage },
    { id: 'names_previous', run: turnPage },
    { id: 'names_renew', run: openRenewForm },
    { id: 'names_edit', run: openEditForm },
    { id: 'names_export', run: (call) => exportNames(call, parsePageState(call).filter) },
  ],
} as const satisfies Feature;
