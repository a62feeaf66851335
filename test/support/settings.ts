/** `APPROVAL_TASKS` of stories about other subjects: what can lose a name needs no approver in them. */
export const CHARGED_TASKS = 'create,transfer,renew,restore';
