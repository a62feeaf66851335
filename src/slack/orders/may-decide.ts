import { waitingFor } from '../../orders/approvers.ts';
import { type Interaction, isAdmin } from '../feature.ts';

/**
 * Whether a person is an admin or an approver. Only they may change what the need for approval depends
 * on.
 */
export async function mayDecide({ deps, person }: Interaction): Promise<boolean> {
  if (isAdmin(deps, person)) return true;
  return (await waitingFor(deps.orders, person.id, [])).isApprover;
}
