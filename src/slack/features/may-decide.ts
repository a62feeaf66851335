import { waitingFor } from '../../orders/approvers.ts';
import { type Interaction, isAdmin } from '../feature.ts';

/** Whether a person is an admin or an approver: what changes the need for approval is theirs alone. */
export async function mayDecide({ deps, person }: Interaction): Promise<boolean> {
  if (isAdmin(deps, person)) return true;
  return (await waitingFor(deps.orders, person.id, [])).isApprover;
}
