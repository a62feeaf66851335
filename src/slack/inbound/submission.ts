import { setTimeout as sleep } from 'node:timers/promises';
import type { AckFn, ViewResponseAction } from '@slack/bolt';
import type { ModalView } from '@slack/types';
import type { z } from 'zod';
import type { SlackContext } from '../context.ts';
import type { FormFeature, Interaction, NextView, Registered, SubmissionResult } from '../feature.ts';
import { publishHome } from '../home/home.ts';
import { escapeText, type Message, section, textMessage } from '../kit/blocks.ts';
import {
  type FormOrigin,
  type FormValues,
  formView,
  joinErrors,
  noticeView,
  toSections,
} from '../kit/form.ts';
import { renderForm } from '../open-form.ts';
import { replaceMentions } from '../outbound/plain-names.ts';
import { okResponseSchema, SlackApiError } from '../outbound/web.ts';
import { ANSWERED_IN_CHANNEL, CHECKING_NOTICE } from './access.view.ts';
import type { Acknowledgement } from './acknowledgement.ts';
import { authorize, createInteraction, type Delivery } from './authorize.ts';
import { reportError } from './error-message.ts';
import { readFormValues, toDeliveryFields, type ViewPayload, type viewPayloadSchema } from './payload.ts';
import { respondBefore } from './respond.ts';

/** Slack waits 3 seconds. After this delay, the form shows a notice until the outcome is known. */
const CHECKING_NOTICE_DELAY_MS = 2_000;

type Ack = AckFn<ViewResponseAction>;

/** Sends nothing, because forms are acknowledged with their outcome. */
const createNoopAcknowledgement = (): Acknowledgement => ({
  send: () => undefined,
  isLate: false,
  arrivedAt: performance.now(),
});

export async function submitForm(
  context: SlackContext,
  feature: Registered<FormFeature>,
  payload: z.infer<typeof viewPayloadSchema>,
  origin: FormOrigin,
  ack: Ack,
): Promise<void> {
  const { user, view } = payload;
  const delivery: Delivery = {
    ...toDeliveryFields(payload),
    isInModal: false,
    channelId: origin.channelId === '' ? undefined : origin.channelId,
    threadTs: origin.threadTs,
    deliveryId: `view:${view.id}`,
    acknowledgement: createNoopAcknowledgement(),
  };
  const values = readFormValues(view);
  const outcome = runSubmission(context, feature, delivery, values, origin);
  const earlyOutcome = await Promise.race([
    outcome,
    sleep(CHECKING_NOTICE_DELAY_MS, undefined, { ref: false }),
  ]);
  const interaction = createInteraction(context, delivery);
  // A form that was opened from the Home tab may change what the tab shows.
  const refreshHome = async () => {
    if (delivery.channelId === undefined) await publishHome(context, user.id);
  };
  if (earlyOutcome !== undefined) {
    await acknowledgeSubmission(earlyOutcome, feature.form.title, view, ack, interaction);
    if (!('errors' in earlyOutcome || 'view' in earlyOutcome)) await refreshHome();
    return;
  }
  await ack({ response_action: 'update', view: noticeView(feature.form.title, [CHECKING_NOTICE]) });
  await showLateOutcome(await outcome, feature, view.id, values, origin, interaction);
  await refreshHome();
}

/** Never throws. Errors are shown in the form. */
async function runSubmission(
  context: SlackContext,
  feature: Registered<FormFeature>,
  delivery: Delivery,
  values: FormValues,
  origin: FormOrigin,
): Promise<SubmissionResult> {
  try {
    const authorization = await authorize(context, delivery, feature);
    if ('refusal' in authorization) {
      return { view: noticeView(feature.form.title, toSections(authorization.refusal)) };
    }
    return await replaceErrorMentions(
      context,
      await feature.submit({ ...authorization.interaction, values, origin }),
    );
  } catch (error) {
    const reply = reportError(context.log, error, `form ${feature.form.name}`);
    return { errors: { [feature.form.fields[0]?.name ?? '']: reply.text } };
  }
}

async function replaceErrorMentions(
  { directory }: SlackContext,
  outcome: SubmissionResult,
): Promise<SubmissionResult> {
  if (!('errors' in outcome)) return outcome;
  const errors = Object.entries(outcome.errors).map(
    async ([field, error]) => [field, await replaceMentions(directory, error)] as const,
  );
  return { errors: Object.fromEntries(await Promise.all(errors)) };
}

async function acknowledgeSubmission(
  outcome: SubmissionResult,
  title: string,
  view: ViewPayload,
  ack: Ack,
  interaction: Interaction,
): Promise<void> {
  if ('errors' in outcome) {
    // Slack drops errors for fields that the view doesn't have.
    const shownFields = Object.keys(view.state?.values ?? {});
    const errors = Object.entries(outcome.errors).map(
      ([field, error]) => [shownFields.includes(field) ? field : (shownFields[0] ?? field), error] as const,
    );
    await ack({ response_action: 'errors', errors: joinErrors(errors) });
  } else if ('view' in outcome) {
    await ack({ response_action: 'update', view: outcome.view });
    await runBackgroundTask(outcome, view.id, interaction);
  } else if (outcome.reply === undefined || (await trySendMessage(interaction, outcome.reply))) {
    // This also closes the parent modal, which is outdated.
    await ack({ response_action: 'clear' });
  } else {
    await ack({ response_action: 'update', view: noticeView(title, toSections(outcome.reply)) });
    if (!hasOnlyText(outcome.reply)) await interaction.respond(outcome.reply);
  }
}

/** Leaves time to acknowledge the form before Slack's timeout of 3 seconds. */
const REPLY_TIMEOUT_MS = 2_600;

/** @returns whether Slack accepted the message in time; if not, the form must show the message */
function trySendMessage({ context, person, channelId, threadTs, arrivedAt }: Interaction, message: Message) {
  const target = { person, channelId, threadTs, responseUrl: undefined };
  return respondBefore(context, target, message, arrivedAt + REPLY_TIMEOUT_MS);
}

/** Reports errors of the task. Ignores errors of updates, because the person may have closed the view. */
async function runBackgroundTask(
  nextView: NextView,
  viewId: string,
  interaction: Interaction,
): Promise<void> {
  if (nextView.backgroundTask === undefined) return;
  const { web, log } = interaction.context;
  const showView = async (view: ModalView) => {
    await web.call('views.update', { view_id: viewId, view }, okResponseSchema).catch((error: unknown) => {
      if (!(error instanceof SlackApiError)) throw error;
    });
  };
  try {
    await nextView.backgroundTask(showView);
  } catch (error) {
    await interaction.respond(reportError(log, error, 'background task of a form'));
  }
}

/** Replaces the notice with the outcome, or with the form, its input and its errors. */
async function showLateOutcome(
  outcome: SubmissionResult,
  feature: FormFeature,
  viewId: string,
  values: FormValues,
  origin: FormOrigin,
  interaction: Interaction,
): Promise<void> {
  const updateView = (view: ModalView) =>
    interaction.context.web.call('views.update', { view_id: viewId, view }, okResponseSchema);
  try {
    if ('errors' in outcome) {
      const problems = Object.values(outcome.errors).map(escapeText);
      await updateView(await renderProblems(feature, interaction, origin, values, problems));
    } else if ('view' in outcome) {
      await updateView(outcome.view);
      await runBackgroundTask(outcome, viewId, interaction);
    } else if (outcome.reply === undefined || hasOnlyText(outcome.reply)) {
      await updateView(noticeView(feature.form.title, toSections(outcome.reply ?? textMessage('Done.'))));
    } else {
      // A notice shows only text, so a reply with buttons or tables is posted in the channel.
      await updateView(noticeView(feature.form.title, [ANSWERED_IN_CHANNEL]));
      await interaction.respond(outcome.reply);
    }
  } catch (error) {
    // Slack rejects the update if the person has closed the view.
    if (!(error instanceof SlackApiError)) throw error;
    const reply = 'errors' in outcome || 'view' in outcome ? undefined : outcome.reply;
    const text = 'errors' in outcome ? Object.values(outcome.errors).map(escapeText).join(' ') : 'Done.';
    await interaction.respond(reply ?? textMessage(text));
  }
}

/** Shows the form with its input, or only the problems if the form can't be rendered. */
async function renderProblems(
  feature: FormFeature,
  interaction: Interaction,
  origin: FormOrigin,
  values: FormValues,
  problems: readonly string[],
): Promise<ModalView> {
  try {
    return formView({ ...(await renderForm(feature, interaction, origin, values)), warnings: problems });
  } catch (err) {
    interaction.context.log.error({ err, form: feature.form.name }, 'showing a form again failed');
    return noticeView(
      feature.form.title,
      problems.map((problem) => section(problem)),
    );
  }
}

function hasOnlyText(message: Message): boolean {
  return message.blocks.every((block) => block.type === 'section');
}
