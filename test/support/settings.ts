/**
 * `APPROVAL_TASKS` for tests about other subjects: tasks that can lose a name need no approval in them.
 */
export const CHARGED_TASKS = 'create,transfer,renew,restore';
