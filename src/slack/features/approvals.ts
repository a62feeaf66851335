import { APPLICATION_SLOT, accountName } from '../../accounts/account.ts';
import { type ChangeOutcome, NO_SUCH_ORDER } from '../../orders/change.ts';
import { isOpen, type Order, stateInWords } from '../../orders/order.ts';
import {
  type Action,
  type ActionCall,
  activeAccount,
  type Feature,
  type FormFeature,
  type Interaction,
  reasonOf,
  type Submitted,
} from '../feature.ts';
import { cardBlockId } from '../views/card.ts';
import type { Form } from '../views/form.ts';
import { noticeView, verbatim } from '../views/form.ts';
import { code, context, escapeText, say, section } from '../views/kit.ts';
import { orderTitle } from '../views/order.ts';
import { transferForm } from './domains.ts';
import { valuesFromInput } from './order-form.ts';
import { openAlready, openForm, outcomeMessage } from './ordering.ts';
import { userForm } from './users.ts';

/*
 * The buttons of an order's card and of its replies. A button carries the order's id and nothing else; on a click
 * everything is read and checked again.
 */

/**
 * Tells the person why nothing changed; what did change, the card and the thread say.
 * @param changed what to say of it where the click was acknowledged before it was known
 */
async function tellOutcome(
  call: Interaction,
  outcome: ChangeOutcome,
  changed: (title: string, order: Order) => string,
): Promise<void> {
  if (!outcome.ok) return call.tell(say(outcome.refusal));
  const { order } = outcome;
  await call.tellIfLate(say(changed(`*${escapeText(orderTitle(order))}*, order ${code(order.id)}`, order)));
}

async function approve(call: ActionCall): Promise<void> {
  await tellOutcome(call, await call.deps.orders.approve(call.value, call.person.id), approvedText);
}

function approvedText(title: string, { state }: Order): string {
  if (state === 'FAILED') return `${title} was stopped, nothing was sent. Its thread says why.`;
  return state === 'PENDING'
    ? `Your approval counts: ${title}. It needs somebody else’s too.`
    : `Approved: ${title}. Its thread says how it ends.`;
}

async function cancel(call: ActionCall): Promise<void> {
  await tellOutcome(
    call,
    await call.deps.orders.cancel(call.value, call.person.id),
    (title) => `Cancelled: ${title}. Nothing was sent.`,
  );
}

async function confirm(call: ActionCall): Promise<void> {
  const outcome = await call.deps.orders.confirm(call.value, call.person.id);
  if (outcome.kind === 'open_already') return call.tell(openAlready(outcome.order));
  await call.tell(
    outcome.kind === 'refused'
      ? say(outcome.why)
      : say(`Confirmed: ${escapeText(orderTitle(outcome.order))}. Its card follows.`),
  );
}

async function retry(call: ActionCall): Promise<void> {
  const outcome = await call.deps.orders.retry(call.value, call.person.id);
  if (outcome.kind === 'refused') return call.tell(say(outcome.why));
  if (outcome.kind === 'needs_secret') {
    const { order } = outcome;
    if (order.requesterId !== call.person.id) {
      return call.tell(
        say('Its secret part was not kept. Only the person who asked can ask again and type it.'),
      );
    }
    return retryWithSecret(call, order);
  }
  const message = outcomeMessage(outcome);
  if (message !== undefined) return call.tell(message);
  if (outcome.kind !== 'accepted') return;
  const { id, state } = outcome.order;
  await call.tell(
    isOpen(state)
      ? say(`Asked for again as order ${code(id)}. Its card follows.`)
      : say(
          `This was retried already, as order ${code(id)}, which is ${stateInWords(state)}. See it with \`/domain order ${id}\`.`,
        ),
  );
}

/** The form again with all but the secret, for the account that the order was made with. */
async function retryWithSecret(call: ActionCall, order: Order): Promise<void> {
  const account = await activeAccount(call);
  if (account?.id !== order.account.id) {
    return call.tell(
      say(
        `This was asked for with ${code(accountName(order.account))}, which is not your active account. Choose it with \`/domain use ${order.account.context ?? APPLICATION_SLOT}\`, then press again.`,
      ),
    );
  }
  const origin = {
    channelId: order.channelId,
    ...(order.threadTs === undefined ? {} : { threadTs: order.threadTs }),
  };
  await openForm(call, order.task === 'transfer' ? transferForm : userForm, origin, {
    ...valuesFromInput(order.input),
    ...(order.reason === undefined ? {} : { reason: order.reason }),
  });
}

async function reveal(call: ActionCall): Promise<void> {
  const outcome = await call.deps.orders.reveal(call.value, call.person.id);
  if (outcome.kind === 'refused') {
    const { err, why } = outcome;
    if (err !== undefined)
      call.deps.log.error({ err, orderId: call.value }, 'opening the secret result of an order');
    return call.tell(say(why));
  }
  const title = outcome.order.task === 'authcode' ? 'Auth code' : 'Generated password';
  const view = noticeView(title, [
    section(escapeText(orderTitle(outcome.order))),
    verbatim(outcome.secret.reveal()),
    context('Shown once. When you close this it is gone: copy it now.'),
  ]);
  await call.open(view, { undo: outcome.giveBack });
}

const REASON = {
  name: 'reason',
  label: 'Reason',
  kind: 'text',
  optional: true,
  hint: 'Stands in the thread and in the audit log.',
} as const;

/** A form that asks for a reason before it acts on an order. */
function reasonForm(
  form: Omit<Form, 'fields'>,
  act: (call: Interaction, subject: string, reason: string | undefined) => Promise<ChangeOutcome>,
): FormFeature {
  const full: Form = { ...form, fields: [REASON] };
  return {
    form: full,
    needs: 'member',
    render: (_call, origin, values) => ({ form: full, origin, values }),
    async submit(call): Promise<Submitted> {
      const outcome = await act(call, call.origin.subject ?? '', reasonOf(call.values));
      return outcome.ok ? { kind: 'done' } : { kind: 'errors', errors: { reason: outcome.refusal } };
    },
  };
}

const denyForm = reasonForm(
  { name: 'deny', title: 'Deny this order', submit: 'Deny' },
  (call, orderId, reason) => call.deps.orders.deny(orderId, call.person.id, reason),
);

/** The subject names the order and what was found: `<order id>:done` or `<order id>:failed`. */
const settleForm = reasonForm(
  { name: 'settle', title: 'Settle this order', submit: 'Settle' },
  (call, subject, reason) => {
    const [orderId = '', found] = subject.split(':');
    return call.deps.orders.settle(
      orderId,
      call.person.id,
      found === 'done' ? 'SUCCEEDED' : 'FAILED',
      reason,
    );
  },
);

function originWith(call: ActionCall, subject: string) {
  return {
    channelId: call.channelId ?? '',
    ...(call.threadTs === undefined ? {} : { threadTs: call.threadTs }),
    subject,
  };
}

async function openDeny(call: ActionCall): Promise<void> {
  const order = await call.deps.orders.load(call.value);
  if (order === undefined) return call.tell(say(NO_SUCH_ORDER));
  const refusal = await call.deps.orders.refusalToDeny(order, call.person.id);
  if (refusal !== undefined) return call.tell(say(refusal));
  await openForm(call, denyForm, originWith(call, order.id), {});
}

function openSettle(found: 'done' | 'failed') {
  return async (call: ActionCall): Promise<void> => {
    const order = await call.deps.orders.load(call.value);
    if (order === undefined) return call.tell(say(NO_SUCH_ORDER));
    const refusal = await call.deps.orders.refusalToSettle(order, call.person.id);
    if (refusal !== undefined) return call.tell(say(refusal));
    await openForm(call, settleForm, originWith(call, `${order.id}:${found}`), {});
  };
}

/** A card that the bot does not know it posted is known from the first press of its buttons. */
function knowingItsCard({ run, ...action }: Action): Action {
  return {
    ...action,
    async run(call) {
      await run(call);
      call.acknowledge();
      const { channelId, messageTs: ts, value: orderId } = call;
      if (channelId !== undefined && ts !== undefined && call.blockId === cardBlockId(orderId)) {
        await call.deps.adoptCard(orderId, { channelId, ts });
      }
    },
  };
}

const BUTTONS: readonly Action[] = [
  { id: 'order_approve', needs: 'member', run: approve },
  { id: 'order_deny', needs: 'member', run: openDeny },
  { id: 'order_cancel', needs: 'member', run: cancel },
  { id: 'order_confirm', needs: 'member', run: confirm },
  { id: 'order_retry', needs: 'member', run: retry },
  { id: 'order_reveal', needs: 'member', run: reveal },
  { id: 'order_resolve_done', needs: 'member', run: openSettle('done') },
  { id: 'order_resolve_failed', needs: 'member', run: openSettle('failed') },
];

export const approvals: Feature = { forms: [denyForm, settleForm], actions: BUTTONS.map(knowingItsCard) };
