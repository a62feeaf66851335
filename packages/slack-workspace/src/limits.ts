/**
 * Slack's documented limits on numbers of items and lengths of text (in characters). Source: the Block Kit and Web API
 * references of docs.slack.dev.
 */
export const LIMITS = {
  message: {
    blocks: 50,
    text: 40_000,
    /** For `chat.update`, whose limit is far below that of `chat.postMessage`. */
    updatedText: 4_000,
    /** Approximate and undocumented. Above this total, Slack returns `msg_blocks_too_long`. */
    blocksText: 13_000,
    /** In bytes of JSON. */
    metadata: 16_000,
    charts: 2,
  },
  view: {
    blocks: 100,
    title: 24,
    submit: 24,
    close: 24,
    privateMetadata: 3_000,
    callbackId: 255,
    /** In bytes of JSON. */
    size: 250_000,
    stackedModals: 3,
  },
  block: { blockId: 255 },
  section: { text: 3_000, fields: 10, fieldText: 2_000 },
  header: { text: 150 },
  actions: { elements: 25 },
  context: { elements: 10, text: 3_000 },
  input: { label: 2_000, hint: 2_000 },
  /**
   * `rows` includes the header. Slack has raised its documented limits from 101 rows and 10,000 characters to 201 and
   * 20,000. The smaller limits are safe everywhere.
   */
  dataTable: { minRows: 2, rows: 101, cells: 20, totalText: 10_000, pageSize: 100 },
  chart: { title: 50, series: 6, points: 20, name: 20, label: 20, axisLabel: 50 },
  element: { actionId: 255, placeholder: 150 },
  button: { text: 75, value: 2_000, accessibilityLabel: 75 },
  select: { options: 100 },
  overflow: { options: 5 },
  checkboxes: { options: 10 },
  option: { text: 75, value: 150 },
  textInput: { text: 3_000 },
  trigger: { validMs: 3_000 },
  responseUrl: { uses: 5, validMs: 30 * 60_000 },
  ack: { timeoutMs: 3_000 },
} as const;

const [TIER_2, TIER_3, TIER_4] = [20, 50, 100];

/** By method. For `chat.postMessage`, the limit is per channel (`postsPerSecond`). */
export const MAX_CALLS_PER_MINUTE: Readonly<Record<string, number>> = {
  'chat.delete': TIER_3,
  'chat.deleteScheduledMessage': TIER_3,
  'chat.postEphemeral': TIER_4,
  'chat.scheduleMessage': TIER_3,
  'chat.update': TIER_3,
  'conversations.info': TIER_3,
  'conversations.list': TIER_2,
  'conversations.members': TIER_4,
  'conversations.open': TIER_3,
  'files.completeUploadExternal': TIER_4,
  'files.getUploadURLExternal': TIER_4,
  'usergroups.list': TIER_2,
  'usergroups.users.list': TIER_2,
  'users.info': TIER_4,
  'users.list': TIER_2,
  'views.open': TIER_4,
  'views.publish': TIER_4,
  'views.push': TIER_4,
  'views.update': TIER_4,
};
