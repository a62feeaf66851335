export interface BotScope {
  readonly scope: string;
  readonly isOptional: boolean;
  readonly consequenceIfMissing: string;
}

/** Must match `manifest.yml`. The local workspace grants only these, so that tests find missing scopes. */
export const BOT_SCOPES: readonly BotScope[] = [
  { scope: 'chat:write', isOptional: false, consequenceIfMissing: 'nothing can be shown' },
  { scope: 'commands', isOptional: false, consequenceIfMissing: 'no commands work' },
  { scope: 'files:read', isOptional: true, consequenceIfMissing: 'the rows of /domain bulk must be pasted' },
  { scope: 'files:write', isOptional: false, consequenceIfMissing: 'no files can be sent' },
  { scope: 'im:write', isOptional: false, consequenceIfMissing: 'no direct messages can be sent' },
  { scope: 'usergroups:read', isOptional: true, consequenceIfMissing: 'approver groups don’t count' },
  { scope: 'users:read', isOptional: false, consequenceIfMissing: 'members can’t be checked' },
];
