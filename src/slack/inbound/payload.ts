import { z } from 'zod';
import type { FormOrigin, FormValues } from '../kit/form.ts';
import { slackUserSchema } from '../outbound/directory.ts';

// Schemas of Slack's deliveries. They contain only the fields in use, because others may change.

export const commandPayloadSchema = z.object({
  team_id: z.string(),
  user_id: z.string(),
  channel_id: z.string(),
  text: z.string().default(''),
  trigger_id: z.string(),
  response_url: z.string(),
});

/** The fields of all interactions except commands. */
const interactionSchema = z.object({
  user: z.object({ id: z.string(), team_id: z.string().optional() }),
  team: z.object({ id: z.string() }).nullish(),
  trigger_id: z.string(),
  response_url: z.string().optional(),
});

export function toDeliveryFields({
  user,
  team,
  trigger_id,
  response_url,
}: z.infer<typeof interactionSchema>) {
  return {
    userId: user.id,
    homeTeamId: user.team_id ?? team?.id,
    triggerId: trigger_id,
    responseUrl: response_url,
  };
}

const optionSchema = z.object({ value: z.string() });
const inputStateSchema = z.object({
  value: z.string().nullish(),
  selected_option: optionSchema.nullish(),
  selected_options: z.array(optionSchema).nullish(),
  selected_user: z.string().nullish(),
  selected_users: z.array(z.string()).nullish(),
  selected_channel: z.string().nullish(),
  selected_channels: z.array(z.string()).nullish(),
  selected_conversation: z.string().nullish(),
  selected_conversations: z.array(z.string()).nullish(),
  files: z.array(z.object({ url_private: z.string() })).nullish(),
});
const viewSchema = z.object({
  id: z.string(),
  type: z.string().default('modal'),
  callback_id: z.string().default(''),
  private_metadata: z.string().default(''),
  state: z.object({ values: z.record(z.string(), z.record(z.string(), inputStateSchema)) }).optional(),
});
export type ViewPayload = z.infer<typeof viewSchema>;

const messageSchema = z.object({
  ts: z.string(),
  thread_ts: z.string().optional(),
  blocks: z
    .array(z.object({ block_id: z.string().optional() }))
    .optional()
    .catch(undefined),
});

export const actionPayloadSchema = interactionSchema.extend({
  channel: z.object({ id: z.string() }).nullish(),
  message: messageSchema.nullish(),
  view: viewSchema.nullish(),
  actions: z
    .array(
      z.object({
        action_id: z.string(),
        block_id: z.string().default(''),
        action_ts: z.string().default(''),
        value: z.string().optional(),
        selected_option: optionSchema.nullish(),
      }),
    )
    .min(1),
});

export const viewPayloadSchema = interactionSchema.extend({
  trigger_id: z.string().default(''),
  view: viewSchema,
});

export const shortcutPayloadSchema = interactionSchema.extend({
  channel: z.object({ id: z.string() }),
  message: messageSchema.extend({ text: z.string().nullish() }),
});

/** Has no message and no channel. */
export const globalShortcutPayloadSchema = interactionSchema;

export const homePayloadSchema = z.object({ user: z.string(), tab: z.string().optional() });

export const directoryEventSchema = z.object({
  team_id: z.string(),
  event: z.discriminatedUnion('type', [
    z.object({ type: z.literal('user_change'), user: slackUserSchema.extend({ id: z.string() }) }),
    z.object({ type: z.literal('subteam_members_changed'), subteam_id: z.string() }),
  ]),
});

export function readFormValues(payload: ViewPayload): FormValues {
  const values: Record<string, string | readonly string[]> = {};
  for (const [blockId, inputs] of Object.entries(payload.state?.values ?? {})) {
    for (const input of Object.values(inputs)) {
      values[blockId] =
        input.selected_options?.map((option) => option.value) ??
        input.selected_users ??
        input.files?.map((file) => file.url_private) ??
        input.selected_channels ??
        input.selected_conversations ??
        input.selected_option?.value ??
        input.selected_user ??
        input.selected_channel ??
        input.selected_conversation ??
        input.value ??
        '';
    }
  }
  return values;
}

const originSchema = z.object({
  channelId: z.string(),
  threadTs: z.string().optional(),
  subject: z.string().optional(),
  retryOf: z.string().optional(),
  accountId: z.string().optional(),
  page: z.int().positive().optional(),
});

/** @returns undefined for forms that aren't the bot's */
export function parseOrigin(payload: ViewPayload): FormOrigin | undefined {
  try {
    return originSchema.parse(JSON.parse(payload.private_metadata));
  } catch {
    return undefined;
  }
}
