import type { SettingsStore } from '../settings.ts';
import { alertAdmins, type OnceDeps, tellOnce } from './admins.ts';
import { newApprovalTasks } from './views/new-default.ts';

/** What {@link announceNewDefault} needs. */
export interface NewDefaultDeps extends OnceDeps {
  readonly store: Pick<SettingsStore, 'all' | 'noteOnce' | 'forgetNote'>;
  /** The environment does not set which tasks wait for approval. */
  readonly isDefault: boolean;
  readonly hasOrders: () => Promise<boolean>;
}

const NOTE = 'new default of approval_tasks';

/**
 * Tells admins once that more tasks wait for approval than before. Only an installation that has used the former
 * default is told: the tasks are not set, and somebody has ordered before. A message that could not be sent is tried
 * again at the next start.
 */
export async function announceNewDefault(deps: NewDefaultDeps): Promise<void> {
  const { store, isDefault, hasOrders, log } = deps;
  await tellOnce(deps, NOTE, async () => {
    if (!isDefault || (await store.all())['approval_tasks'] !== undefined) return;
    if (!(await hasOrders())) return;
    log.info('what can lose a name waits for approval from now on, for APPROVAL_TASKS is not set');
    await alertAdmins(deps, newApprovalTasks());
  });
}
