import type { TeamSettings } from '../../src/config/environment.ts';

/** The usual `APPROVAL_TASKS` in tests: paid tasks need approval, tasks that can lose a name don't. */
export const CHARGED_TASKS = 'create,transfer,renew,restore';

/** Settings with Bob as the approver of renewals; the durations are a millisecond. */
export function newTeamSettings(changes: Partial<TeamSettings> = {}): TeamSettings {
  return {
    approvers: ['U0BOB'],
    silentApprovers: [],
    approvalsRequired: 1,
    approvalTasks: ['renew'],
    approvalTtlMs: 1,
    approvalRemindAfterMs: 1,
    allowSelfApproval: false,
    approvalChannel: undefined,
    approvalEscalateAfterMs: 1,
    approvalEscalateTo: [],
    alertChannel: undefined,
    reportChannel: undefined,
    reminderChannel: undefined,
    reminderDays: [],
    reminderCron: '0 9 * * *',
    reminderTimezone: 'UTC',
    ...changes,
  };
}
