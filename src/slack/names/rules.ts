import { isDemoContext } from '../../accounts/account.ts';
import { getExpiryDay } from '../../expiry/days.ts';
import { DAY_MS } from '../../lib/duration.ts';
import { getOrderTask } from '../../orders/tasks.ts';
import { type DomainName, formatDomainName, parseDomainName, parseZone } from '../../zones/names.ts';
import { checkName, findZoneProfile, listDocumentedZones } from '../../zones/rules.ts';
import type { CommandCall, Feature } from '../feature.ts';
import { escapeExceptCode } from '../kit/blocks.ts';
import { type NameDates, RULES_USAGE, rulesMessage, type TransferLock, zonesMessage } from './rules.view.ts';
import { formatZoneIssue } from './zone-issue.view.ts';

async function runRules(call: CommandCall): Promise<void> {
  const [word, ...otherWords] = call.words;
  if (word === undefined) return call.respond(zonesMessage(listDocumentedZones()));
  if (otherWords.length > 0) return call.respond(RULES_USAGE);
  const { reminderTimezone: timeZone } = await call.context.loadSettings();
  const clock = { now: call.context.now(), timeZone };

  const isName = !word.startsWith('.') && word.replace(/\.$/, '').includes('.');
  const zone = isName ? undefined : parseZone(word);
  if (zone !== undefined) return call.respond(rulesMessage(findZoneProfile(zone), zone, undefined, clock));
  const parsed = parseDomainName(word);
  if (!parsed.ok) return call.respond(escapeExceptCode(formatZoneIssue(parsed.issue)));
  const name = parsed.value;
  const profile = findZoneProfile(name.ascii);
  const nameRules = {
    name: formatDomainName(name.ascii),
    issues: checkName(name),
    dates: await loadDates(call, name, timeZone),
    transferLock: await findTransferLock(call, name),
  };
  await call.respond(
    rulesMessage(profile, profile.isDocumented ? profile.zone : name.zone, nameRules, clock),
  );
}

const MAX_ORDERS_CHECKED = 50;

/** Finds the lock that ends last. “Limits” in the service's API document says which orders start locks. */
async function findTransferLock(call: CommandCall, { ascii }: DomainName): Promise<TransferLock | undefined> {
  // Includes private orders: only the lock is shown here, and the registry publishes it anyway.
  const query = { viewer: 'system', name: ascii, limit: MAX_ORDERS_CHECKED } as const;
  const orders = await call.context.orders.store.list(query);
  const transferLocks = orders.flatMap(({ task, account, closedAt, items }): TransferLock[] => {
    const lock = getOrderTask(task).findTransferLock(ascii);
    const item = items.find(({ name, state }) => name === ascii && state === 'SUCCEEDED');
    const endedAt = item?.answeredAt ?? closedAt;
    if (lock === undefined || item === undefined || endedAt === undefined || isDemoContext(account.context))
      return [];
    return [{ ...lock, until: new Date(endedAt.getTime() + lock.days * DAY_MS) }];
  });
  return transferLocks.sort((a, b) => b.until.getTime() - a.until.getTime())[0];
}

async function loadDates(
  call: CommandCall,
  name: DomainName,
  timeZone: string,
): Promise<NameDates | undefined> {
  const watchedName = await call.context.expiry.find(name.ascii);
  if (watchedName?.expiry === undefined) return undefined;
  const { at, source } = watchedName.expiry;
  return {
    expiresAt: at,
    source,
    expiryDay: getExpiryDay(at, source, timeZone),
    deletedAt: watchedName.deletedAt,
    deletionPhase: watchedName.deletionPhase,
  };
}

export const rules = {
  commands: [
    {
      usage: 'rules [NAME or ZONE]',
      summary: 'Show a zone’s tasks, charges, limits and dates',
      example: '/domain rules cafe.rest',
      run: runRules,
    },
  ],
} as const satisfies Feature;
