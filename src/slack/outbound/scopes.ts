export interface BotScope {
  readonly scope: string;
  readonly isOptional: boolean;
  readonly consequence: string;
}

/** Must match `manifest.yml`. The local workspace grants only these, so that tests find missing scopes. */
export const BOT_SCOPES: readonly BotScope[] = [
  { scope: 'chat:write', isOptional: false, consequence: 'nothing can be shown' },
  { scope: 'commands', isOptional: false, consequence: 'no commands work' },
  { scope: 'files:read', isOptional: true, consequence: 'the rows of /domain bulk must be pasted' },
  { scope: 'files:write', isOptional: false, consequence: 'no files can be sent' },
  { scope: 'im:write', isOptional: false, consequence: 'no direct messages can be sent' },
  { scope: 'usergroups:read', isOptional: true, consequence: 'approver groups don’t count' },
  { scope: 'users:read', isOptional: false, consequence: 'members can’t be checked' },
];
