import { setTimeout as sleep } from 'node:timers/promises';
import type { ModalView } from '@slack/types';
import { z } from 'zod';
import { NOT_LINKED, NOT_LINKED_ADMIN, NOT_LINKED_BUT_CAN_ORDER } from '../accounts/link.view.ts';
import { isOffered, type Needs } from '../capability.ts';
import type { SlackContext } from '../context.ts';
import { type Interaction, isAdmin } from '../feature.ts';
import { NO_SERVICE } from '../help/help.view.ts';
import { type Message, textMessage } from '../kit/blocks.ts';
import { noticeView, toSections } from '../kit/form.ts';
import type { Person } from '../outbound/directory.ts';
import { okResponseSchema, SlackApiError } from '../outbound/web.ts';
import {
  ADMIN_STATUS_UNKNOWN,
  DELAY_NOTICE,
  DONE_NOTICE,
  NOT_A_MEMBER,
  NOT_AN_ADMIN,
  NOT_IN_ORGANIZATION,
  OPENED_TOO_LATE,
} from './access.view.ts';
import type { Acknowledgement } from './acknowledgement.ts';
import { reportError } from './error-message.ts';
import { respond, respondBefore, respondWithRetries } from './respond.ts';

export interface Delivery {
  readonly userId: string;
  /** The person's workspace, if Slack's signed request names it. */
  readonly homeTeamId: string | undefined;
  readonly channelId: string | undefined;
  readonly threadTs: string | undefined;
  readonly triggerId: string;
  /** The click was in a modal, so another modal opens on top. */
  readonly isInModal: boolean;
  /** Stays the same if Slack redelivers. */
  readonly deliveryId: string;
  readonly responseUrl: string | undefined;
  readonly acknowledgement: Acknowledgement;
}

const openedViewSchema = okResponseSchema.extend({ view: z.object({ id: z.string() }) });

const DELAY_NOTICE_AFTER_MS = 2_500;

function createNonMember(userId: string): Person {
  return { id: userId, isMember: false, isAdmin: false, isConfirmed: false };
}

/** With the default person, the interaction can be used to reply, but grants no rights. */
export function createInteraction(
  context: SlackContext,
  delivery: Delivery,
  person: Person = createNonMember(delivery.userId),
): Interaction {
  const { channelId, threadTs, deliveryId, triggerId, isInModal, responseUrl, acknowledgement } = delivery;
  let account: ReturnType<Interaction['loadAccount']> | undefined;
  let orderAccount: ReturnType<Interaction['loadOrderAccount']> | undefined;
  const openView = (view: ModalView) =>
    context.web.call(
      isInModal ? 'views.push' : 'views.open',
      { trigger_id: triggerId, view },
      openedViewSchema,
    );
  const sendReply: Interaction['respond'] = async (reply, options) => {
    acknowledgement.send();
    const message = typeof reply === 'string' ? textMessage(reply) : reply;
    const target = { person, channelId, threadTs, responseUrl };
    // A click in the Home tab can be answered only by direct message or, if Slack refuses that, in a modal.
    const isHomeClick = responseUrl === undefined && (channelId ?? '') === '';
    if (isHomeClick) {
      if (await respondBefore(context, target, message, acknowledgement.arrivedAt + RESPOND_WITHIN_MS))
        return;
      if (await showInModal(message, openView)) return;
    }
    await respondWithRetries(context, target, message, options);
  };
  return {
    context,
    person,
    channelId,
    threadTs,
    deliveryId,
    arrivedAt: acknowledgement.arrivedAt,
    loadAccount: () => {
      account ??= context.accounts.findActive(person.id);
      return account;
    },
    loadOrderAccount: () => {
      orderAccount ??= context.accounts.findDefault(person.id);
      return orderAccount;
    },
    acknowledge: acknowledgement.send,
    respond: sendReply,
    respondIfLate: async (message) => {
      if (acknowledgement.isLate) await sendReply(message);
    },
    open: async (view, { onOpened, onFailed } = {}) => {
      acknowledgement.send();
      let viewId: string;
      try {
        const response = await retryWithinTrigger(acknowledgement.arrivedAt, () => openView(view));
        viewId = response.view.id;
      } catch (error) {
        await onFailed?.();
        if (error instanceof SlackApiError && /trigger/.test(error.code ?? '')) {
          await sendReply(OPENED_TOO_LATE);
          return;
        }
        throw error;
      }
      await onOpened?.(viewId);
    },
  };
}

/** @returns false if Slack refuses the modal, or the modal can't show the whole message */
function showInModal(message: Message, openView: (view: ModalView) => Promise<unknown>): Promise<boolean> {
  return openView(noticeView('Domain Steward', toSections(message))).then(
    () => message.blocks.every(({ type }) => type === 'section'),
    () => false,
  );
}

/** Leaves time to open a modal within the trigger's 3 seconds. */
const RESPOND_WITHIN_MS = 1_700;

/** A trigger is valid for 3 seconds after the action. The difference allows for network latency. */
const TRIGGER_TIMEOUT_MS = 2_700;

/**
 * Makes a call that uses a trigger. Retries after a rate limit while the trigger is valid.
 * @param arrivedAt when the delivery arrived, in ms from `performance.now`
 */
async function retryWithinTrigger<T>(arrivedAt: number, call: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await call();
    } catch (error) {
      if (!(error instanceof SlackApiError) || error.retryAfterMs === undefined) throw error;
      if (performance.now() + error.retryAfterMs > arrivedAt + TRIGGER_TIMEOUT_MS) throw error;
      await sleep(error.retryAfterMs);
    }
  }
}

async function findPreconditionRefusal(
  interaction: Interaction,
  { needs, name }: Precondition,
): Promise<Message | undefined> {
  const { context, person } = interaction;
  if (!person.isMember) return context.orgId === undefined ? NOT_A_MEMBER : NOT_IN_ORGANIZATION;
  if (needs === 'admin' && !isAdmin(context, person))
    return person.isConfirmed ? NOT_AN_ADMIN : ADMIN_STATUS_UNKNOWN;
  if (!isOffered({ needs }, context)) return NO_SERVICE;
  const needsLinkIfService = needs === 'linked_if_service' || needs === 'linked_or_owner';
  const needsLink = needs === 'linked' || (needsLinkIfService && context.hasService);
  const isExemptOwner = async () =>
    needs === 'linked_or_owner' && (await context.expiry.find(name ?? ''))?.owner === person.id;
  if (needsLink && (await interaction.loadAccount()) === undefined && !(await isExemptOwner()))
    return loadNotLinkedMessage(interaction);
  const isAccountMissing = needs === 'account' && (await interaction.loadOrderAccount()) === undefined;
  return isAccountMissing ? loadNotLinkedMessage(interaction) : undefined;
}

async function loadNotLinkedMessage({ context, person, loadOrderAccount }: Interaction): Promise<Message> {
  if ((await loadOrderAccount()) !== undefined) return NOT_LINKED_BUT_CAN_ORDER;
  return isAdmin(context, person) ? NOT_LINKED_ADMIN : NOT_LINKED;
}

interface Precondition {
  readonly needs: Needs;
  /** The name that a button is about. */
  readonly name?: string | undefined;
}

/** Identifies the person and checks the precondition. */
export async function authorize(
  context: SlackContext,
  delivery: Delivery,
  precondition: Precondition,
): Promise<{ readonly interaction: Interaction } | { readonly refusal: Message }> {
  if (precondition.needs === 'nothing') return { interaction: createInteraction(context, delivery) };
  const person = await context.directory.loadPerson(delivery.userId, delivery.homeTeamId);
  const interaction = createInteraction(context, delivery, person);
  const refusal = await findPreconditionRefusal(interaction, precondition);
  return refusal === undefined ? { interaction } : { refusal };
}

/**
 * Runs an action if the person is authorized. Otherwise, or if the action fails, replies with the reason.
 * @param activity identifies the action in the log
 */
export async function handleDelivery(
  context: SlackContext,
  delivery: Delivery,
  { activity, ...precondition }: Precondition & { readonly activity: string },
  run: (interaction: Interaction) => Promise<void>,
): Promise<void> {
  const unauthorizedInteraction = createInteraction(context, delivery);
  let hasReplied = false;
  const trackReply =
    <Args extends readonly unknown[]>(send: (...args: Args) => Promise<void>) =>
    (...args: Args) => {
      hasReplied = true;
      return send(...args);
    };
  const delayTimer = setTimeout(() => {
    const target = { ...delivery, person: unauthorizedInteraction.person };
    if (!hasReplied) void respond(context, target, DELAY_NOTICE).catch(() => undefined);
  }, DELAY_NOTICE_AFTER_MS);
  try {
    const authorization = await authorize(context, delivery, precondition);
    if ('refusal' in authorization) return await unauthorizedInteraction.respond(authorization.refusal);
    const interaction = authorization.interaction;
    await run({
      ...interaction,
      respond: trackReply(interaction.respond),
      respondIfLate: trackReply(interaction.respondIfLate),
      open: trackReply(interaction.open),
    });
    // Deliveries that were acknowledged late always get a reply.
    if (!hasReplied) await interaction.respondIfLate(DONE_NOTICE);
  } catch (error) {
    await unauthorizedInteraction.respond(reportError(context.log, error, activity));
  } finally {
    clearTimeout(delayTimer);
  }
}
