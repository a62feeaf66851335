import { setTimeout as sleep } from 'node:timers/promises';
import type { ExpiryTracker } from '../../expiry/expiry.ts';
import { parseName, parseNamesToWatch, parseRegistrableName } from '../../expiry/import.ts';
import type { AddedName } from '../../expiry/watch-list.ts';
import type { KnownName } from '../../names/names.ts';
import { assessName, createPosture } from '../../names/posture.ts';
import { type CommandCall, type Feature, type Interaction, isAdmin, toFormOrigin } from '../feature.ts';
import { escapeText, type Message } from '../kit/blocks.ts';
import { createChangeSaver, requestConfirmation } from '../names/name-changes.ts';
import {
  lookingUpText,
  UNWATCH_USAGE,
  unwatchedText,
  type WatchResult,
  watchProblemText,
  watchResultMessage,
} from './watch.view.ts';
import { formatWatchRefusal } from './watch-list.view.ts';

/** If the lookups take longer, an interim reply says that they are running. */
const QUICK_LOOKUP_MS = 1_500;
const LOOKUP_TIMEOUT_MS = 6_000;
/** Leaves time to respond within 30 seconds of the command. */
const LIST_TIMEOUT_MS = 25_000;

async function runWatch(call: Interaction, words: readonly string[], isCommand: boolean): Promise<void> {
  const parsed = parseNamesToWatch(words);
  if ('problem' in parsed) return call.respond(watchProblemText(parsed.problem));
  const { names, date } = parsed;
  const isList = names.length > 1;
  const addOutcomes: (readonly [text: string, outcome: Awaited<ReturnType<ExpiryTracker['add']>>])[] = [];
  for (const text of names)
    addOutcomes.push([text, await call.context.expiry.add({ text, date }, createChangeSaver(call))] as const);
  const timeoutMs = isList
    ? Math.max(LOOKUP_TIMEOUT_MS, call.arrivedAt + LIST_TIMEOUT_MS - performance.now())
    : LOOKUP_TIMEOUT_MS;
  const lookups = Promise.all(
    addOutcomes.map(async ([text, outcome]) => ({
      text,
      ...(outcome.ok ? await lookUp(call, outcome, timeoutMs) : { outcome }),
    })),
  );
  // After a click, an interim reply would replace the clicked message.
  const quickMs = Math.max(0, call.arrivedAt + QUICK_LOOKUP_MS - performance.now());
  const quickResults = await Promise.race([lookups, sleep(quickMs, undefined, { ref: false })]);
  if (quickResults === undefined && isCommand) await call.respond(lookingUpText(names.length));
  await call.respond(await buildWatchReply(call, await lookups, date), { replace: isCommand });
}

async function lookUp(
  call: Interaction,
  added: AddedName,
  timeoutMs: number,
): Promise<Omit<WatchResult, 'text'>> {
  const { expiry, now } = call.context;
  const outcome = await expiry.lookUp(added, timeoutMs);
  if (!outcome.ok) return { outcome };
  const knownName = await loadKnownName(call, added.name);
  const { expiry: domainExpiry, deletedAt } = outcome.domain;
  const time = now();
  const nameState = {
    expiresAt: domainExpiry?.at,
    deletedAt,
    isLapsing: false,
    hasOwner: true,
    incidentSince: undefined,
  };
  const postureInput = knownName && {
    name: added.name,
    history: knownName.history,
    at: time,
    certificateDays: [],
  };
  const posture = postureInput && createPosture(postureInput, undefined);
  return { outcome, knownName, findings: assessName({ ...nameState, posture }, time).findings };
}

async function buildWatchReply(
  call: Interaction,
  results: readonly WatchResult[],
  enteredDate: string | undefined,
): Promise<Message> {
  const { reminderTimezone, reminderChannel } = await call.context.loadSettings();
  const confirmationTexts = await Promise.all(
    results.flatMap(({ outcome }) =>
      outcome.ok && outcome.proposal !== undefined ? [requestConfirmation(call, outcome.proposal)] : [],
    ),
  );
  return watchResultMessage(results, {
    enteredDate,
    confirmationTexts,
    hasReminders: reminderChannel !== undefined,
    isAdmin: isAdmin(call.context, call.person),
    timeZone: reminderTimezone,
    now: call.context.now(),
  });
}

async function loadKnownName(call: Interaction, name: string): Promise<KnownName | undefined> {
  const { names, log } = call.context;
  return names.loadKnownName(name).catch((err: unknown) => {
    log.warn({ err, name }, 'looking up a newly watched name failed');
    return undefined;
  });
}

async function runUnwatch(call: CommandCall): Promise<void> {
  const [name, ...rest] = call.words;
  if (name === undefined || rest.length > 0) return call.respond(UNWATCH_USAGE);
  const parsed = parseName(name);
  if (!parsed.ok) return call.respond(escapeText(formatWatchRefusal(parsed.issue)));
  const { ascii, unicode } = parsed.value;
  const outcome = await call.context.protectedChanges.unwatch(ascii, call.person.id, toFormOrigin(call));
  if (outcome.kind === 'waiting') return call.respond(await requestConfirmation(call, outcome.proposal));
  if (outcome.kind === 'not_watched') {
    const registrable = parseRegistrableName(name);
    const refusal = registrable.ok ? ({ code: 'not_watched', name: unicode } as const) : registrable.issue;
    return call.respond(escapeText(formatWatchRefusal(refusal)));
  }
  call.context.log.info({ name: ascii, by: call.person.id }, 'removed from the watch list');
  await call.respond(unwatchedText(ascii));
}

export const watch = {
  commands: [
    {
      usage: 'watch NAME… [YYYY-MM-DD]',
      summary: 'Watch the expiry and DNS of up to 50 names',
      example: '/domain watch cafe.rest',
      run: (call) => runWatch(call, call.words, true),
    },
    {
      usage: 'unwatch NAME',
      summary: 'Stop watching a name',
      example: '/domain unwatch cafe.rest',
      run: runUnwatch,
    },
  ],
  actions: [{ id: 'watch_domain', run: (call) => runWatch(call, call.value.split(' '), false) }],
} as const satisfies Feature;
