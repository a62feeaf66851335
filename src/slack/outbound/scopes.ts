export interface BotScope {
  readonly scope: string;
  readonly isOptional: boolean;
  readonly without: string;
}

/** Same as in `manifest.yml`. The local workspace grants no others, so a call that needs more fails in the tests. */
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
