/** A scope of the bot's token. */
export interface BotScope {
  readonly scope: string;
  readonly isOptional: boolean;
  /** What does not work without it. */
  readonly without: string;
}

/**
 * The scopes of the bot's token. `manifest.yml` asks for the same, and the local workspace grants no others, so that a
 * call that needs more fails in the tests.
 */
export const BOT_SCOPES: readonly BotScope[] = [
  { scope: 'chat:write', isOptional: false, without: 'nothing can be shown' },
  { scope: 'commands', isOptional: false, without: 'nobody can ask' },
  {
    scope: 'files:read',
    isOptional: true,
    without: 'the rows of /domain bulk are pasted, not attached',
  },
  { scope: 'files:write', isOptional: false, without: 'no file can be sent' },
  { scope: 'im:write', isOptional: false, without: 'nobody can be written to' },
  { scope: 'usergroups:read', isOptional: true, without: 'approver groups do not count' },
  { scope: 'users:read', isOptional: false, without: 'nobody is known as a member' },
];
