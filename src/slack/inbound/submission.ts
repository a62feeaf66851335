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
import { readFormValues, toSender, type ViewPayload, type viewPayloadSchema } from './payload.ts';
import { respondBefore } from './respond.ts';

/** Slack waits 3 seconds. If the outcome takes longer than this, the view says so, and is updated later. */
const CHECKING_AFTER_MS = 2_000;

type Ack = AckFn<ViewResponseAction>;

/** A form's own acknowledgement contains its outcome, so this one is never sent. */
const createFormAcknowledgement = (): Acknowledgement => ({
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
    ...toSender(payload),
    isInModal: false,
    channelId: origin.channelId === '' ? undefined : origin.channelId,
    threadTs: origin.threadTs,
    deliveryId: `view:${view.id}`,
    acknowledgement: createFormAcknowledgement(),
  };
  const values = readFormValues(view);
  const outcome = runSubmission(context, feature, delivery, values, origin);
  const earlyOutcome = await Promise.race([outcome, sleep(CHECKING_AFTER_MS, undefined, { ref: false })]);
  const interaction = createInteraction(context, delivery);
  // A form that was opened from the Home tab may change the tab.
  const refreshHome = async () => {
    if (delivery.channelId === undefined) await publishHome(context, user.id);
  };
  if (earlyOutcome !== undefined) {
    await answerSubmission(earlyOutcome, feature.form.title, view, ack, interaction);
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
      await feature.submit({ ...authorization.call, values, origin }),
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

async function answerSubmission(
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
  } else if (outcome.reply === undefined || (await trySending(interaction, outcome.reply))) {
    // This also closes the modal below, which is outdated.
    await ack({ response_action: 'clear' });
  } else {
    await ack({ response_action: 'update', view: noticeView(title, toSections(outcome.reply)) });
    if (!hasOnlyText(outcome.reply)) await interaction.respond(outcome.reply);
  }
}

/** Slack gives up on a form after 3 seconds. */
const NOTIFY_WITHIN_MS = 2_600;

/** @returns whether Slack accepted the message in time; if not, the form must show the message */
function trySending({ context, person, channelId, threadTs, arrivedAt }: Interaction, message: Message) {
  const target = { person, channelId, threadTs, responseUrl: undefined };
  return respondBefore(context, target, message, arrivedAt + NOTIFY_WITHIN_MS);
}

/** Reports errors of the task. Ignores errors of updates, because the person may have closed the view. */
async function runBackgroundTask(next: NextView, viewId: string, interaction: Interaction): Promise<void> {
  if (next.backgroundTask === undefined) return;
  const { web, log } = interaction.context;
  const showView = async (view: ModalView) => {
    await web.call('views.update', { view_id: viewId, view }, okResponseSchema).catch((error: unknown) => {
      if (!(error instanceof SlackApiError)) throw error;
    });
  };
  try {
    await next.backgroundTask(showView);
  } catch (error) {
    await interaction.respond(reportError(log, error, 'form work'));
  }
}

/** Replaces the notice with the result, or with the form and its input. */
async function showLateOutcome(
  outcome: SubmissionResult,
  feature: FormFeature,
  viewId: string,
  values: FormValues,
  origin: FormOrigin,
  interaction: Interaction,
): Promise<void> {
  const update = (view: ModalView) =>
    interaction.context.web.call('views.update', { view_id: viewId, view }, okResponseSchema);
  try {
    if ('errors' in outcome) {
      const problems = Object.values(outcome.errors).map(escapeText);
      await update(await renderProblems(feature, interaction, origin, values, problems));
    } else if ('view' in outcome) {
      await update(outcome.view);
      await runBackgroundTask(outcome, viewId, interaction);
    } else if (outcome.reply === undefined || hasOnlyText(outcome.reply)) {
      await update(noticeView(feature.form.title, toSections(outcome.reply ?? textMessage('Done.'))));
    } else {
      // A notice shows only text, so a reply with buttons or tables is posted in the channel.
      await update(noticeView(feature.form.title, [ANSWERED_IN_CHANNEL]));
      await interaction.respond(outcome.reply);
    }
  } catch (error) {
    // The person has closed the view.
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
  warnings: readonly string[],
): Promise<ModalView> {
  try {
    return formView({ ...(await renderForm(feature, interaction, origin, values)), warnings });
  } catch (err) {
    interaction.context.log.error({ err, form: feature.form.name }, 'showing a form again failed');
    return noticeView(
      feature.form.title,
      warnings.map((problem) => section(problem)),
    );
  }
}

function hasOnlyText(message: Message): boolean {
  return message.blocks.every((block) => block.type === 'section');
}
