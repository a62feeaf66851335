import type { Log } from '../log.ts';
import type { SettingsStore } from '../settings.ts';
import { type AdminAlertDeps, alertAdmins } from './admins.ts';
import { newApprovalTasks } from './views/new-default.ts';

/** What {@link announceNewDefault} needs. */
export interface NewDefaultDeps extends AdminAlertDeps {
  readonly store: Pick<SettingsStore, 'all' | 'noteOnce' | 'forgetNote'>;
  /** The environment does not set which tasks wait for approval. */
  readonly isDefault: boolean;
  readonly hasOrders: () => Promise<boolean>;
  readonly now: () => Date;
  readonly log: Log;
}

const NOTE = 'new default of approval_tasks';

/**
 * Tells admins once that more tasks wait for approval than before. Only an installation that has used the former
 * default is told: the tasks are not set, and somebody has ordered before. A message that could not be sent is tried
 * again at the next start.
 */
export async function announceNewDefault(deps: NewDefaultDeps): Promise<void> {
  const { store, isDefault, hasOrders, now, log } = deps;
  if (!(await store.noteOnce(NOTE, now()))) return;
  try {
    if (!isDefault || (await store.all())['approval_tasks'] !== undefined) return;
    if (!(await hasOrders())) return;
    log.info('what can lose a name waits for approval from now on, for APPROVAL_TASKS is not set');
    await alertAdmins(deps, newApprovalTasks());
  } catch (error) {
    await store.forgetNote(NOTE);
    throw error;
  }
}
