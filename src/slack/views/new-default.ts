import { DEFAULT_APPROVAL_TASKS, taskNamed } from '../../orders/tasks.ts';
import { code, type Message, textMessage } from './blocks.ts';

/** What admins of an installation that set no tasks are told once. */
export function newApprovalTasks(): Message {
  const former = DEFAULT_APPROVAL_TASKS.filter((task) => taskNamed(task).effect === 'charge');
  const added = DEFAULT_APPROVAL_TASKS.filter((task) => !former.includes(task));
  return textMessage(
    `:information_source: From now on what can lose a name waits for approval too: ${added.map(code).join(', ')}. Before, only what costs money did. To keep it as it was, open \`/domain settings\` and take these out of “Tasks that wait for approval”, or have whoever runs me set ${code(`APPROVAL_TASKS=${former.join(',')}`)}.`,
  );
}
