import {
  loadDomainWaitingCostCalculator,
  loadRenewalCapability,
  loadRenewalDays,
} from '../approvals/waiting.ts';
import type { ActionCall, CommandCall, Feature, Interaction } from '../feature.ts';
import type { Message } from '../kit/blocks.ts';
import { expiringMessage, NAMES_PER_PAGE } from './expiring.view.ts';
import { expiringUsage } from './expiry.view.ts';

const DEFAULT_DAYS = 90;
const MAX_DAYS = 3_660;

async function runExpiring(call: CommandCall): Promise<void> {
  const [word, ...rest] = call.words;
  const days = word === undefined ? DEFAULT_DAYS : parseNumber(word, MAX_DAYS);
  if (days === undefined || rest.length > 0) {
    return call.respond(expiringUsage(MAX_DAYS));
  }
  await call.respond(await buildExpiringPage(call, days, 0));
}

/** The button's value is `<days>:<offset>`. */
async function turnPage(call: ActionCall): Promise<void> {
  const [days, offset] = call.value.split(':');
  const page = await buildExpiringPage(
    call,
    parseNumber(days ?? '', MAX_DAYS) ?? DEFAULT_DAYS,
    parseNumber(offset ?? '') ?? 0,
  );
  await call.respond(page, { replace: true });
}

async function buildExpiringPage({ context }: Interaction, days: number, offset: number): Promise<Message> {
  const [page, calculateCost] = await Promise.all([
    context.expiry.list(days, offset, NAMES_PER_PAGE),
    loadDomainWaitingCostCalculator(context),
  ]);
  const renewals = await loadRenewalDays(context, page.names);
  return expiringMessage(
    page,
    { days, offset, now: context.now() },
    calculateCost,
    renewals,
    await loadRenewalCapability(context),
  );
}

function parseNumber(text: string, max = Number.MAX_SAFE_INTEGER): number | undefined {
  const value = /^\d{1,9}$/.test(text) ? Number(text) : undefined;
  return value !== undefined && value <= max ? value : undefined;
}

export const expiring = {
  commands: [
    {
      usage: 'expiring [DAYS]',
      summary: 'List names that expire within 90 days, or another number of days',
      example: '/domain expiring 30',
      run: runExpiring,
    },
  ],
  actions: [
    { id: 'expiring_next', run: turnPage },
    { id: 'expiring_previous', run: turnPage },
  ],
} as const satisfies Feature;
