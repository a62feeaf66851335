/**
 * The scopes of the bot's token. `manifest.yml` asks for the same, and the local workspace grants no others, so that a
 * call that needs more fails in the tests.
 */
export const BOT_SCOPES = [
  // Cards, replies, digests, and what one person alone is told.
  'chat:write',
  // The slash command and the message shortcut.
  'commands',
  // What is attached to a form for many names. Optional: without it the rows are pasted.
  'files:read',
  // The audit log, and the files of orders of many rows.
  'files:write',
  // A person's direct message, where the bot cannot post in the channel.
  'im:write',
  // Who belongs to a user group of approvers. Optional: without it nobody counts as a member of one.
  'usergroups:read',
  // Whether somebody is a member of the workspace, and an admin; and when that changes.
  'users:read',
] as const;
