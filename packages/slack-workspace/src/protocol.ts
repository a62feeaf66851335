/**
 * The protocol between the workspace's server and its page, and the objects that both use.
 *
 * Slack's own objects keep Slack's field names. The page imports this file in the browser, so it must not use anything
 * from Node.
 */
import { z } from 'zod';

export type Json = null | boolean | number | string | Json[] | JsonObject;
export type JsonObject = { [key: string]: Json };

const jsonObjectSchema: z.ZodType<JsonObject> = z.record(z.string(), z.json());

const userSchema = z.object({
  id: z.string(),
  name: z.string(),
  real_name: z.string(),
  team_id: z.string(),
  /** The Enterprise Grid organization of the person's workspace. */
  enterprise_id: z.string().optional(),
  /** IANA name of the time zone, for example `Europe/Berlin`. */
  tz: z.string(),
  is_admin: z.boolean(),
  is_owner: z.boolean(),
  is_bot: z.boolean(),
  /** Whether the person belongs to another workspace and is here through a shared channel. */
  is_stranger: z.boolean(),
  /** Whether the person is deactivated. */
  deleted: z.boolean(),
  /** Whether the person is a guest. */
  is_restricted: z.boolean(),
  /** Whether the person is a guest in only one channel. */
  is_ultra_restricted: z.boolean(),
  /** The role of this person in the demo, for example "asks". */
  role: z.string(),
});
export type User = z.infer<typeof userSchema>;

export const channelSchema = z.object({
  id: z.string(),
  name: z.string(),
  is_im: z.boolean(),
  is_private: z.boolean(),
  members: z.array(z.string()),
  is_archived: z.boolean().optional(),
  topic: z.string(),
});
export type Channel = z.infer<typeof channelSchema>;

export const fileSchema = z.object({
  id: z.string(),
  name: z.string(),
  title: z.string(),
  mimetype: z.string(),
  /** In bytes. */
  size: z.number(),
  url_private_download: z.string(),
});
export type FileInfo = z.infer<typeof fileSchema>;

export const messageSchema = z.object({
  type: z.literal('message'),
  channel: z.string(),
  ts: z.string(),
  user: z.string(),
  bot_id: z.string().optional(),
  app_id: z.string().optional(),
  text: z.string(),
  blocks: z.array(jsonObjectSchema),
  thread_ts: z.string().optional(),
  metadata: z.object({ event_type: z.string(), event_payload: jsonObjectSchema }).optional(),
  edited: z.object({ user: z.string(), ts: z.string() }).optional(),
  files: z.array(fileSchema).optional(),
  /** The only person who sees the message. */
  ephemeral_to: z.string().optional(),
  /** The recipients that the message notifies: user ids, user group ids, `here`, `channel` and `everyone`. */
  notifies: z.array(z.string()),
});
export type Message = z.infer<typeof messageSchema>;

/** The state of each stateful element, by block id and then action id. */
const stateValuesSchema = z.record(z.string(), z.record(z.string(), jsonObjectSchema));
export type StateValues = z.infer<typeof stateValuesSchema>;

const plainTextSchema = z.object({
  type: z.literal('plain_text'),
  text: z.string(),
  emoji: z.boolean().optional(),
});

export const viewSchema = z.object({
  id: z.string(),
  team_id: z.string(),
  app_id: z.string(),
  bot_id: z.string(),
  type: z.enum(['modal', 'home']),
  title: plainTextSchema.nullable(),
  submit: plainTextSchema.nullable(),
  close: plainTextSchema.nullable(),
  blocks: z.array(jsonObjectSchema),
  private_metadata: z.string(),
  callback_id: z.string(),
  external_id: z.string(),
  hash: z.string(),
  state: z.object({ values: stateValuesSchema }),
  clear_on_close: z.boolean(),
  notify_on_close: z.boolean(),
  root_view_id: z.string(),
  previous_view_id: z.string().nullable(),
});
export type View = z.infer<typeof viewSchema>;

const commandHintSchema = z.object({
  command: z.string(),
  description: z.string(),
  usage_hint: z.string(),
});
export type CommandHint = z.infer<typeof commandHintSchema>;

const shortcutHintSchema = z.object({ name: z.string(), callback_id: z.string() });
export type ShortcutHint = z.infer<typeof shortcutHintSchema>;

/** `GET /local/state?user=U…`: everything that the person sees. `user` defaults to the first person. */
export const snapshotSchema = z.object({
  /** Incremented by each change. Included in events. */
  version: z.number(),
  /** By the workspace's clock, in milliseconds since 1970. */
  now: z.number(),
  team: z.object({ id: z.string(), name: z.string(), domain: z.string() }),
  me: z.string(),
  bot: z.object({ user_id: z.string(), name: z.string() }),
  commands: z.array(commandHintSchema),
  shortcuts: z.array(shortcutHintSchema),
  users: z.array(userSchema),
  usergroups: z.array(z.object({ id: z.string(), handle: z.string(), name: z.string() })),
  channels: z.array(channelSchema),
  /** By channel id, oldest first, including replies and this person's ephemeral messages. */
  messages: z.record(z.string(), z.array(messageSchema)),
  /** The open dialogs. The topmost is last. */
  views: z.array(viewSchema),
  home: viewSchema.nullable(),
});
export type Snapshot = z.infer<typeof snapshotSchema>;

/** `GET /local/events` (server-sent events): the state has changed and must be fetched again. */
export const changeSchema = z.object({
  version: z.number(),
  /** `message`, `ephemeral`, `view`, `home`, `channel`, or `host.<name>` for an event from the host. */
  topic: z.string(),
  channel: z.string().optional(),
  user: z.string().optional(),
});
export type Change = z.infer<typeof changeSchema>;

const inputValueSchema = z.union([z.string(), z.array(z.string()), z.null()]);
/** A person's input in an element: text, the value of an option, several values, or nothing. */
export type InputValue = z.infer<typeof inputValueSchema>;

const viewTargetSchema = z.object({ view: z.string() });
const messageTargetSchema = z.object({ channel: z.string(), ts: z.string() });

/** Bodies of the `POST /local/…` requests. `user` is the person who acts. */
export const requestSchemas = {
  command: z.object({ user: z.string(), channel: z.string(), text: z.string() }),
  say: z.object({
    user: z.string(),
    channel: z.string(),
    text: z.string(),
    thread_ts: z.string().optional(),
  }),
  /**
   * Clicks a button in a message or view (including the Home tab). The value selects one of several buttons with the
   * same action id.
   */
  act: z.object({
    user: z.string(),
    target: z.union([viewTargetSchema, messageTargetSchema]),
    action_id: z.string(),
    block_id: z.string().optional(),
    value: z.string().optional(),
  }),
  /** Fills in one input of a dialog. If the input has `dispatch_action`, the app gets an event. */
  input: z.object({
    user: z.string(),
    view: z.string(),
    action_id: z.string(),
    block_id: z.string().optional(),
    value: inputValueSchema,
  }),
  submit: z.object({ user: z.string(), view: z.string(), values: z.record(z.string(), inputValueSchema) }),
  /** Uploads a file for a file input. `content` is base64. */
  upload: z.object({ user: z.string(), name: z.string(), content: z.string() }),
  close: z.object({ user: z.string(), view: z.string() }),
  shortcut: z.object({ user: z.string(), callback_id: z.string(), channel: z.string(), ts: z.string() }),
  home: z.object({ user: z.string() }),
} as const;
export type RequestName = keyof typeof requestSchemas;
export type RequestBody<N extends RequestName> = z.infer<(typeof requestSchemas)[N]>;

/**
 * The response to `command`, `act`, `input`, `shortcut` and `home`: whether the app acknowledged in time. `input`
 * returns `{}` if the app gets no event; `close` always returns `{}`.
 */
export interface ActionResult {
  /** Whether the app acknowledged within Slack's 3 seconds. */
  acked: boolean;
  /** Milliseconds until the acknowledgement or the timeout. */
  ackMs: number;
  /** The HTTP status; null if there was no response; 200 over Socket Mode. */
  status: number | null;
  /** Slack's error code: `operation_timeout` or `dispatch_failed`. */
  error?: string;
  triggerId: string;
}

export type SubmitResult =
  /** The errors are by block id. `sent` is false if Slack refused the input without sending it to the app. */
  | { outcome: 'errors'; errors: Record<string, string>; sent: boolean }
  | { outcome: 'closed' }
  | { outcome: 'updated' | 'pushed'; view: View }
  /** The app didn't respond, or its response was invalid. The dialog stays open. */
  | { outcome: 'failed'; error: string };

export interface SayResult {
  ts: string;
}

/** The body of a response with a 4xx status. */
export interface Refusal {
  error: string;
}
