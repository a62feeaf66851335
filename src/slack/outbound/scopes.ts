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
  { scope: 'commands', isOptional: false, without: 'no commands work' },
  {
    scope: 'files:read',
    isOptional: true,
    without: 'the rows of /domain bulk must be pasted',
  },
  { scope: 'files:write', isOptional: false, without: 'no files can be sent' },
  { scope: 'im:write', isOptional: false, without: 'no direct messages can be sent' },
  { scope: 'usergroups:read', isOptional: true, without: 'approver groups don’t count' },
  { scope: 'users:read', isOptional: false, without: 'members can’t be checked' },
];
