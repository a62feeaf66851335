import { isTeamAccount } from '../../accounts/account.ts';
import { evaluateWithEnvironment, toEvaluationInput, toPolicyQuery } from '../../approvals/requirements.ts';
import { DAY_MS } from '../../lib/duration.ts';
import { mapAmountsByName } from '../../money/order-cost.ts';
import { ORDER_TASK_NAMES, type OrderTaskName } from '../../orders/order.ts';
import { getOrderTask } from '../../orders/tasks.ts';
import type { EffectivePolicy, Policy } from '../../policy/policy.ts';
import { comparePastOrders, type PastOrder } from '../../policy/replay.ts';
import { loadRuleFacts, type PolicyQuery } from '../../policy/rule-facts.ts';
import { parseDomainName } from '../../zones/names.ts';
import { charterNotice } from '../approvals/signing/charter.view.ts';
import type { SlackContext } from '../context.ts';
import { type CommandCall, isAdmin } from '../feature.ts';
import { escapeText, formatCount, textMessage } from '../kit/blocks.ts';
import { formatCsvFile } from '../kit/csv-file.ts';
import { findNearest } from '../kit/parse.ts';
import { formatZoneIssue } from '../names/zone-issue.view.ts';
import { orderTitle } from '../orders/order.view.ts';
import { runWithProgress } from '../outbound/progress.ts';
import { sendFile } from '../send-file.ts';
import {
  hasOmittedRows,
  POLICY_TEST_TEXTS,
  policyReplayMessage,
  policyTestMessage,
  REPLAY_COLUMNS,
  REPLAY_TEXTS,
  type ReplayRow,
  type ReplayView,
  replayCells,
} from './policy-preview.view.ts';

const DEFAULT_DAYS = 90;
const MAX_DAYS = 365;
/** A replay holds its orders in memory. If there are more, it uses only the newest. */
const MAX_PAST_ORDERS = 20_000;

type ParsedRequest = { readonly query: PolicyQuery<OrderTaskName> } | { readonly problem: string };

/** A person's ID or mention. */
const PERSON_PATTERN = /^(?:<@)?([UW][A-Z0-9]{2,})(?:\|[^<>]*)?>?$/;

/** Parses the text after `policy test`. */
function parseRequest(words: readonly string[], requesterId: string): ParsedRequest {
  const [taskWord = '', ...rest] = words[0] === '/domain' ? words.slice(1) : words;
  const task = ORDER_TASK_NAMES.find((name) => name === taskWord.toLowerCase());
  if (task === undefined) {
    return {
      problem: POLICY_TEST_TEXTS.unknownTask(taskWord, findNearest(taskWord.toLowerCase(), ORDER_TASK_NAMES)),
    };
  }
  const byIndex = rest.findIndex((word) => word.toLowerCase() === 'by');
  const [, personId] = byIndex === -1 ? [] : (PERSON_PATTERN.exec(rest[byIndex + 1] ?? '') ?? []);
  if (byIndex !== -1 && (personId === undefined || rest.length > byIndex + 2)) {
    return { problem: POLICY_TEST_TEXTS.unknownPerson(rest.slice(byIndex + 1).join(' ')) };
  }
  const nameWords = byIndex === -1 ? rest : rest.slice(0, byIndex);
  const names = nameWords.flatMap((word) => word.split(/[,;]+/)).filter((name) => name !== '');
  return parseTaskArguments(task, names, personId ?? requesterId);
}

function parseTaskArguments(
  task: OrderTaskName,
  words: readonly string[],
  requesterId: string,
): ParsedRequest {
  const lastWord = words.at(-1);
  const hasPeriod = task === 'renew' && lastWord !== undefined && /^\d{1,2}$/.test(lastWord);
  const nameWords = hasPeriod ? words.slice(0, -1) : task === 'renew' ? words : words.slice(0, 1);
  const input = task === 'renew' ? { period: hasPeriod ? Number(lastWord) : 1 } : {};
  // The text names no account, so the caller replaces `usesTeamAccount`.
  const request = { task, input, requesterId, usesTeamAccount: false };
  const { zoneTask, nameField, findNames } = getOrderTask(task);
  if (zoneTask === undefined) {
    const names = nameWords.flatMap((word) => findNames({ [nameField]: word }));
    return names.length < nameWords.length
      ? { problem: POLICY_TEST_TEXTS.unreadableInput(nameWords.join(' ')) }
      : { query: toPolicyQuery({ ...request, names }) };
  }
  if (nameWords.length === 0) return { problem: POLICY_TEST_TEXTS.missingName };
  const names: string[] = [];
  for (const word of nameWords) {
    const name = parseDomainName(word);
    if (!name.ok) return { problem: escapeText(formatZoneIssue(name.issue)) };
    names.push(name.value.ascii);
  }
  return { query: toPolicyQuery({ ...request, names: [...new Set(names)] }) };
}

/** The policy that would be in force if the rules were published. */
function replaceRules(
  effectivePolicy: EffectivePolicy,
  publishedPolicy: Policy,
  rules: Policy['rules'],
): EffectivePolicy {
  return { ...effectivePolicy, isCharterMissing: false, version: publishedPolicy.version + 1, rules };
}

/** `policy test LINE` */
export async function runPolicyTest(call: CommandCall, words: readonly string[]): Promise<void> {
  const { context, person } = call;
  const parsed = parseRequest(words, person.id);
  if ('problem' in parsed) return call.respond(parsed.problem);
  const [settings, effectivePolicy, publishedPolicy, draft, account] = await Promise.all([
    context.loadSettings(),
    context.orders.policy.loadCurrentPolicy(),
    context.policies.loadCurrentPolicy(),
    context.policies.findDraft(),
    context.accounts.findDefault(parsed.query.requester),
  ]);
  const query = { ...parsed.query, usesTeamAccount: account !== undefined && isTeamAccount(account) };
  const policy =
    draft === undefined ? effectivePolicy : replaceRules(effectivePolicy, publishedPolicy, draft.rules);
  const [facts, cost] = await Promise.all([
    loadRuleFacts(context.orders, policy.rules, query),
    context.orders.priceOrder(query),
  ]);
  const { task, names, requester } = query;
  const isDraft = draft !== undefined;
  await call.respond(
    policyTestMessage(
      {
        task,
        names,
        requester,
        isDraft,
        version: policy.version,
        cost,
        charterNotice: charterNotice(policy),
      },
      evaluateWithEnvironment(policy, settings, query, facts),
    ),
  );
}

/** `policy replay [DAYS]` */
export async function runReplay(call: CommandCall, words: readonly string[]): Promise<void> {
  const { context, person } = call;
  if (!isAdmin(context, person)) return call.respond(REPLAY_TEXTS.adminsOnly);
  const [daysText = String(DEFAULT_DAYS), ...extraWords] = words;
  const days = /^\d{1,4}$/.test(daysText) && extraWords.length === 0 ? Number(daysText) : 0;
  if (days < 1 || days > MAX_DAYS) return call.respond(REPLAY_TEXTS.invalidDays(words.join(' '), MAX_DAYS));
  const draft = await context.policies.findDraft();
  if (draft === undefined) return call.respond(REPLAY_TEXTS.noDraft);
  const view = await runWithProgress(
    call.respond,
    () => textMessage(REPLAY_TEXTS.inProgress),
    () => replayOrders(context, days, draft.rules),
  );
  await call.respond(policyReplayMessage(view));
  if (!hasOmittedRows(view.changedRows)) return;
  await call.respond(
    await sendFile(call, {
      text: await formatCsvFile([REPLAY_COLUMNS, ...view.changedRows.map(replayCells)]),
      filename: `domain-steward-policy-replay-${days}-days.csv`,
      description: `The list of ${formatCount(view.changedRows.length, 'order')} with different requirements under the draft`,
    }),
  );
}

async function replayOrders(
  context: SlackContext,
  days: number,
  rules: Policy['rules'],
): Promise<ReplayView> {
  const to = context.now();
  const from = new Date(to.getTime() - days * DAY_MS);
  const [settings, publishedPolicy, effectivePolicy] = await Promise.all([
    context.loadSettings(),
    context.policies.loadCurrentPolicy(),
    context.orders.policy.loadCurrentPolicy(),
  ]);
  const draftPolicy = replaceRules(effectivePolicy, publishedPolicy, rules);
  const { directory, ruleFacts } = context.orders;
  const membersByGroup = new Map<string, ReturnType<typeof directory.listGroupMembers>>();
  const listGroupMembers = (groupId: string) => {
    const members = membersByGroup.get(groupId) ?? directory.listGroupMembers(groupId);
    membersByGroup.set(groupId, members);
    return members;
  };
  const pastOrders: PastOrder<PolicyQuery<OrderTaskName>>[] = [];
  const rowsById = new Map<string, Pick<ReplayRow, 'title' | 'requester' | 'requestedAt'>>();
  let isTruncated = false;
  for await (const logRecord of context.events.read(from, new Date(to.getTime() + 1))) {
    if ('event' in logRecord || logRecord.entry.kind !== 'requested') continue;
    const { order, entry } = logRecord;
    const { id, requesterId } = order;
    const query = toPolicyQuery(toEvaluationInput(order));
    const loadPrices = async () => mapAmountsByName(entry.price);
    const sources = { directory: { listGroupMembers }, ruleFacts: { ...ruleFacts, loadPrices } };
    const facts = await loadRuleFacts(sources, [...publishedPolicy.rules, ...rules], query);
    pastOrders.push({ orderId: id, order: query, facts, requirements: order.requirements });
    rowsById.set(id, { title: orderTitle(order), requester: requesterId, requestedAt: order.createdAt });
    if (pastOrders.length > MAX_PAST_ORDERS) {
      const droppedOrder = pastOrders.shift();
      if (droppedOrder !== undefined) rowsById.delete(droppedOrder.orderId);
      isTruncated = true;
    }
  }
  const replay = comparePastOrders(
    ({ order, facts }) => evaluateWithEnvironment(draftPolicy, settings, order, facts).requirements,
    pastOrders,
  );
  const changedRows = replay.changedOrders.flatMap((changedOrder): ReplayRow[] => {
    const row = rowsById.get(changedOrder.orderId);
    return row === undefined ? [] : [{ order: changedOrder, ...row }];
  });
  return {
    days,
    replay,
    changedRows: changedRows.reverse(),
    isTruncated,
    charterNotice: charterNotice(draftPolicy),
  };
}
