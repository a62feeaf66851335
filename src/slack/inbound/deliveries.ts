import type { SlackViewMiddlewareArgs, ViewSubmitAction } from '@slack/bolt';
import type { z } from 'zod';
import { MINUTE_MS } from '../../lib/duration.ts';
import { isOffered, type Needs } from '../capability.ts';
import type { SlackContext } from '../context.ts';
import type { Interaction } from '../feature.ts';
import { unknownCommand } from '../help/help.view.ts';
import { publishHome } from '../home/home.ts';
import { ACTIONS, COMMANDS, FORMS, TASK_MENU } from '../index.ts';
import { type Message, parseMenuChoice } from '../kit/blocks.ts';
import { createRateLimiter } from '../kit/limiter.ts';
import { isDirectMessage } from '../kit/mrkdwn.ts';
import { parseCommandLine, splitTime, suggestCommandLine } from '../kit/parse.ts';
import { openForm } from '../open-form.ts';
import { parseCardBlockId } from '../orders/card.view.ts';
import { loadPermalink } from '../outbound/post-message.ts';
import { NOT_A_MEMBER, rateLimitedMessage, UNKNOWN_FORM, uneditableMessageNotice } from './access.view.ts';
import type { Acknowledgement } from './acknowledgement.ts';
import { createInteraction, type Delivery, handleDelivery } from './authorize.ts';
import { findNames } from './names-in-text.ts';
import {
  actionPayloadSchema,
  commandPayloadSchema,
  globalShortcutPayloadSchema,
  parseOrigin,
  readFormValues,
  shortcutPayloadSchema,
  toDeliveryFields,
  viewPayloadSchema,
} from './payload.ts';
import { submitForm } from './submission.ts';
import type { WorkTracker } from './work-tracker.ts';

interface BoltDelivery {
  readonly body: unknown;
  readonly ack: () => Promise<void>;
}

/** More than a person can do, but few enough that a program can't block the bot for others. */
const DEFAULT_COMMANDS_PER_MINUTE = 600;

/** @param commandsPerMinute commands, shortcuts and clicks per person */
export function createDeliveryHandlers(
  context: SlackContext,
  { track, runInBackground }: WorkTracker,
  commandsPerMinute = DEFAULT_COMMANDS_PER_MINUTE,
) {
  const handleWithRateLimit = createRateLimitedHandler(context, commandsPerMinute);
  const createHandler =
    (activity: string, run: DeliveryRunner<void>) =>
    ({ body, ack }: BoltDelivery) =>
      runInBackground(activity, ack, (acknowledgement) => run(handleWithRateLimit, body, acknowledgement));
  return {
    onCommand: createHandler('command', runCommand),

    onButton: ({ body, ack }: BoltDelivery) =>
      runInBackground('button', ack, async (acknowledgement) => {
        const homeUserId = await runAction(handleWithRateLimit, body, acknowledgement);
        acknowledgement.send();
        await recordCardLocation(context, actionPayloadSchema.parse(body));
        if (homeUserId !== undefined) await publishHome(context, homeUserId);
      }),

    onShortcut: ({ body, ack }: BoltDelivery) =>
      runInBackground('shortcut', ack, async (acknowledgement) => {
        await runShortcut(handleWithRateLimit, body, acknowledgement);
        acknowledgement.send();
        await recordCardLocation(context, shortcutPayloadSchema.parse(body));
      }),

    onGlobalShortcut: createHandler('shortcut', runGlobalShortcut),

    onForm: ({ body, ack }: SlackViewMiddlewareArgs<ViewSubmitAction>) =>
      track('form', async () => {
        const payload = viewPayloadSchema.parse(body);
        const feature = FORMS.get(payload.view.callback_id);
        const origin = parseOrigin(payload.view);
        if (feature === undefined || origin === undefined) {
          await ack({ response_action: 'update', view: UNKNOWN_FORM });
        } else await submitForm(context, feature, payload, origin, ack);
      }),
  };
}

/**
 * If a delivery comes from an order's card, records the card's location. The location is unknown if Slack's
 * response to posting the card was lost.
 */
async function recordCardLocation(
  { adoptCard }: SlackContext,
  { user, channel, message }: z.infer<typeof actionPayloadSchema> | z.infer<typeof shortcutPayloadSchema>,
): Promise<void> {
  const [orderId] = message?.blocks?.flatMap(({ block_id = '' }) => parseCardBlockId(block_id) ?? []) ?? [];
  if (orderId === undefined || message == null || channel == null) return;
  await adoptCard(orderId, { channelId: channel.id, ts: message.ts, readerId: user.id });
}

/** Returns the reply if Slack no longer lets the bot edit the clicked message. */
async function buildUneditableMessageReply(
  interaction: Interaction,
  { channel, message }: z.infer<typeof actionPayloadSchema>,
): Promise<Message | undefined> {
  if (message == null || channel == null) return undefined;
  const { notifications, web } = interaction.context;
  const replacement = await notifications.findReplacement({ channelId: channel.id, ts: message.ts });
  if (replacement === undefined) return undefined;
  interaction.acknowledge();
  const { subject, currentMessage } = replacement;
  // The link to a direct message works only for its recipient.
  const isReadable =
    currentMessage !== undefined &&
    (currentMessage.channelId === channel.id || !isDirectMessage(currentMessage.channelId));
  const link = isReadable ? await loadPermalink(web, currentMessage) : undefined;
  return uneditableMessageNotice(link, subject.kind === 'order' ? subject.id : undefined);
}

type RateLimitedHandler = (
  delivery: Delivery,
  precondition: { readonly needs: Needs; readonly activity: string; readonly name?: string },
  run: (interaction: Interaction) => Promise<void>,
) => Promise<void>;

type DeliveryRunner<Result> = (
  handleWithRateLimit: RateLimitedHandler,
  body: unknown,
  acknowledgement: Acknowledgement,
) => Promise<Result>;

function createRateLimitedHandler(context: SlackContext, commandsPerMinute: number): RateLimitedHandler {
  const limiter = createRateLimiter(commandsPerMinute, MINUTE_MS);

  function findRateLimitRefusal(userId: string): Message | undefined {
    const retryAfterSeconds = limiter.recordUse(userId);
    if (retryAfterSeconds === undefined) return undefined;
    context.log.warn({ userId }, 'a person exceeded the rate limit of commands and clicks');
    return rateLimitedMessage(retryAfterSeconds);
  }

  return async (delivery, precondition, run) => {
    const { userId, homeTeamId = context.teamId } = delivery;
    const canBeMember = homeTeamId === context.teamId || context.orgId !== undefined;
    const refusal = canBeMember ? findRateLimitRefusal(userId) : NOT_A_MEMBER;
    if (refusal !== undefined) await createInteraction(context, delivery).respond(refusal);
    else await handleDelivery(context, delivery, precondition, run);
  };
}

const runCommand: DeliveryRunner<void> = async (handleWithRateLimit, body, acknowledgement) => {
  const payload = commandPayloadSchema.parse(body);
  const line = parseCommandLine(payload.text);
  const command = COMMANDS.get(line.subcommand === '' ? 'help' : line.subcommand);
  const delivery = {
    userId: payload.user_id,
    homeTeamId: payload.team_id,
    channelId: payload.channel_id,
    threadTs: undefined,
    triggerId: payload.trigger_id,
    isInModal: false,
    deliveryId: `command:${payload.trigger_id}`,
    responseUrl: payload.response_url,
    acknowledgement,
  };
  const activity = `/domain ${command?.name ?? '(unknown)'}`;
  await handleWithRateLimit(delivery, { needs: command?.needs ?? 'nothing', activity }, async (call) => {
    if (command === undefined) {
      const offeredCommands = [...COMMANDS.values()].filter((offeredCommand) =>
        isOffered(offeredCommand, call.context),
      );
      const names = offeredCommands.map(({ name }) => name);
      await call.respond(unknownCommand(line.subcommand, suggestCommandLine(line, names)));
    } else {
      const wordsAndTime = command.time === undefined ? { words: line.words } : splitTime(line.words);
      await command.run({ ...call, channelId: delivery.channelId, reason: line.reason, ...wordsAndTime });
    }
  });
};

/** @returns the ID of the person if the click was in the Home tab or in a modal opened from the Home tab */
const runAction: DeliveryRunner<string | undefined> = async (handleWithRateLimit, body, acknowledgement) => {
  const payload = actionPayloadSchema.parse(body);
  const [click] = payload.actions;
  const selectedValue = click?.selected_option?.value ?? '';
  const menuChoice = click && parseMenuChoice(click.action_id, selectedValue);
  const action = click && ACTIONS.get(menuChoice?.id ?? click.action_id);
  if (click === undefined || action === undefined) return undefined;
  const view = payload.view ?? undefined;
  const origin = view === undefined ? undefined : parseOrigin(view);
  const delivery = {
    ...toDeliveryFields(payload),
    isInModal: view?.type === 'modal',
    channelId: payload.channel?.id ?? origin?.channelId,
    threadTs: payload.message?.thread_ts ?? origin?.threadTs,
    deliveryId: `action:${payload.user.id}:${action.id}:${click.action_ts}`,
    acknowledgement,
  };
  const value = menuChoice?.value ?? click.value ?? selectedValue;
  const precondition = { needs: action.needs, activity: action.id, name: value };
  await handleWithRateLimit(delivery, precondition, async (call) => {
    const uneditableMessageReply = await buildUneditableMessageReply(call, payload);
    if (uneditableMessageReply !== undefined) return call.respond(uneditableMessageReply);
    await action.run({
      ...call,
      value,
      blockId: click.block_id,
      clickedAt: click.action_ts,
      messageTs: payload.message?.ts,
      view:
        view === undefined || origin === undefined
          ? undefined
          : { id: view.id, formName: view.callback_id, values: readFormValues(view), origin },
    });
  });
  const isFromHome = view?.type === 'home' || origin?.channelId === '';
  return isFromHome ? payload.user.id : undefined;
};

const SHORTCUT_PRECONDITION = { needs: TASK_MENU.needs, activity: 'shortcut' };

function toShortcutDelivery(payload: z.infer<typeof globalShortcutPayloadSchema>) {
  return { ...toDeliveryFields(payload), isInModal: false, deliveryId: `shortcut:${payload.trigger_id}` };
}

const runShortcut: DeliveryRunner<void> = async (handleWithRateLimit, body, acknowledgement) => {
  const payload = shortcutPayloadSchema.parse(body);
  const channelId = payload.channel.id;
  const threadTs = payload.message.thread_ts ?? payload.message.ts;
  const delivery = { ...toShortcutDelivery(payload), channelId, threadTs, acknowledgement };
  await handleWithRateLimit(delivery, SHORTCUT_PRECONDITION, (call) =>
    openForm(call, TASK_MENU, { channelId, threadTs }, { names: findNames(payload.message.text ?? '') }),
  );
};

/** Outside a direct message, the person chooses the channel for the card. */
const runGlobalShortcut: DeliveryRunner<void> = async (handleWithRateLimit, body, acknowledgement) => {
  const shortcut = toShortcutDelivery(globalShortcutPayloadSchema.parse(body));
  const delivery = { ...shortcut, channelId: undefined, threadTs: undefined, acknowledgement };
  await handleWithRateLimit(delivery, SHORTCUT_PRECONDITION, (call) =>
    openForm(call, TASK_MENU, { channelId: '' }),
  );
};
