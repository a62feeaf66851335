import { checkCanApprove } from '../../../approvals/approve.ts';
import { createRevocationCheck, isAtKeyLimit, MAX_KEYS } from '../../../approvals/signing/key-ring.ts';
import { isPaused } from '../../../orders/bulk/waves.ts';
import { loadVisibleOrder } from '../../../orders/visibility.ts';
import {
  type ActionCall,
  type CommandCall,
  type Feature,
  type Interaction,
  isAdmin,
  toViewer,
} from '../../feature.ts';
import type { Message } from '../../kit/blocks.ts';
import { createPageActions } from '../../kit/pages.ts';
import { refusalText } from '../../orders/refusal.view.ts';
import { charterNotice } from './charter.view.ts';
import { type KeyEntry, keysMessage } from './keys.view.ts';
import { tooManyKeysText } from './link.view.ts';
import { offerCharterLink, offerLink } from './offer-link.ts';

/* Responds with a signing link to actions that need a signature. */

const runKey = async (call: CommandCall) => call.respond(await buildKeysPage(call, 0));

async function buildKeysPage(interaction: Interaction, offset: number): Promise<Message> {
  const { context, person } = interaction;
  const { signing } = context.orders;
  const [{ log, ring }, policy] = await Promise.all([signing.loadKeys(), signing.policy.loadCurrentPolicy()]);
  const canRevoke = createRevocationCheck(log, signing.trust?.roots ?? new Set());
  const ownKeys = [...ring.validKeys.values()].filter(({ owner }) => owner === person.id);
  const keys = ring.keys.map((key): KeyEntry => {
    const chain = ring.validKeys.get(key.fingerprint)?.chain ?? [];
    const isActive = key.validity !== 'revoked' && key.validity !== 'left';
    return {
      ...key,
      vouchedBy: chain.map(({ challenge }) => challenge.by),
      canVouch: key.validity === 'not_vouched' && ownKeys.length > 0,
      canRevoke: isActive && canRevoke(ownKeys, key),
    };
  });
  const policyNotice = charterNotice(policy);
  return keysMessage({
    keys: keys.toSorted((a, b) => Number(b.owner === person.id) - Number(a.owner === person.id)),
    offset,
    hasRoots: signing.trust !== undefined,
    policyNotice,
    canSignCharter: policyNotice !== undefined && ownKeys.length > 0 && isAdmin(context, person),
  });
}

/** Refuses people who can't approve the order. The signing page checks this again. */
async function offerOrderLink(call: ActionCall): Promise<void> {
  const { context, person, value } = call;
  const order = await loadVisibleOrder(context.orders, toViewer(call), value);
  if (order === undefined) return call.respond(refusalText({ code: 'no_such_order' }));
  if (isPaused(order)) return offerLink(call, 'resume', order.id);
  const refusal = await checkCanApprove(context.orders, order, person.id);
  // An admin who isn't an approver may have to approve exceeding a budget.
  if (refusal !== undefined && !(refusal.code === 'not_an_approver' && isAdmin(context, person)))
    return call.respond(refusalText(refusal));
  return offerLink(call, 'order', order.id);
}

async function offerAddKeyLink(call: ActionCall): Promise<void> {
  const { log } = await call.context.orders.signing.loadKeys();
  return isAtKeyLimit(log, call.person.id)
    ? call.respond(tooManyKeysText(MAX_KEYS))
    : offerLink(call, 'add', '');
}

export const signing = {
  commands: [
    {
      usage: 'key',
      summary: 'List, add, vouch for and revoke passkeys',
      example: '/domain key',
      run: runKey,
    },
  ],
  actions: [
    { id: 'order_sign', run: offerOrderLink },
    { id: 'key_add', run: offerAddKeyLink },
    { id: 'key_vouch', run: (call) => offerLink(call, 'vouch', call.value) },
    {
      id: 'key_revoke',
      run: (call) => offerLink(call, 'revoke', call.value, 'revoke_compromised'),
    },
    ...createPageActions('keys', async (call: ActionCall, { offset }) =>
      call.respond(await buildKeysPage(call, offset), { replace: true }),
    ),
    { id: 'charter_sign', run: (call) => offerCharterLink(call, 'charter', '') },
  ],
} as const satisfies Feature;
