import type { Account } from '../../accounts/account.ts';
import { Secret } from '../../client/secret.ts';
import type { Order, OrderTaskName } from '../../orders/order.ts';
import type { RequestOutcome } from '../../orders/request.ts';
import {
  activeAccount,
  type CommandCall,
  type FormFeature,
  type Interaction,
  type Submitted,
  textOf,
} from '../feature.ts';
import type { Field, FormOrigin, FormValues, FormView } from '../views/form.ts';
import { formView } from '../views/form.ts';
import { code, escapeText, type Message, say } from '../views/kit.ts';
import { confirmMessage, orderTitle } from '../views/order.ts';

/*
 * What every task that becomes an order shares: placing it, saying what came of it, and its form.
 */

export interface Wish {
  readonly task: OrderTaskName;
  readonly input: unknown;
  readonly secret?: Secret;
  readonly reason: string | undefined;
}

/** Places an order for the person of an interaction, with the account that is active now. */
export async function placeOrder(call: Interaction, origin: FormOrigin, wish: Wish): Promise<RequestOutcome> {
  return call.deps.orders.request({
    task: wish.task,
    input: wish.input,
    secret: wish.secret,
    reason: wish.reason,
    requesterId: call.person.id,
    account: await activeAccount(call),
    channelId: origin.channelId,
    threadTs: origin.threadTs,
    deliveryId: call.deliveryId,
  });
}

/** What the person hears at once; undefined when the card says it all. */
export function outcomeMessage(outcome: RequestOutcome): Message | undefined {
  switch (outcome.kind) {
    case 'accepted':
      return outcome.order.state === 'DRAFT' ? confirmMessage(outcome.order) : undefined;
    case 'not_linked':
      return say('You have no linked account yet. Type `/domain link` first, then try again.');
    case 'unsupported':
      return say(`Your account cannot do this. ${escapeText(outcome.why)}`);
    case 'invalid':
      return say(problemList(outcome.problems.map(({ problem }) => problem)));
    case 'open_already':
      return openAlready(outcome.order);
  }
}

/** Every problem named, and that nothing happened. */
export function problemList(problems: readonly string[]): string {
  const [only] = problems;
  const said =
    problems.length === 1 && only !== undefined
      ? escapeText(only)
      : problems.map((problem) => `• ${escapeText(problem)}`).join('\n');
  return `Nothing was asked for yet.${problems.length === 1 ? ' ' : '\n'}${said}`;
}

/** A second order for the same task and name is refused with the way to the open one. */
export function openAlready(order: Order): Message {
  return say(
    `There is an open order for this already: ${code(order.id)} *${escapeText(orderTitle(order))}*, asked by <@${order.requesterId}>. See it with \`/domain order ${order.id}\`.`,
  );
}

/** Runs a command whose line is complete. */
export async function orderFromLine(call: CommandCall, task: OrderTaskName, input: unknown): Promise<void> {
  const outcome = await placeOrder(call, { channelId: call.channelId }, { task, input, reason: call.reason });
  const message = outcomeMessage(outcome);
  if (message !== undefined) await call.tell(message);
}

/** Opens a form, or says why the person's account cannot do what it is for. */
export async function openForm(
  call: Interaction,
  feature: FormFeature,
  origin: FormOrigin,
  values: FormValues,
): Promise<void> {
  await call.open(formView(await feature.render(call, origin, values)));
}

export const REASON_FIELD: Field = {
  name: 'reason',
  label: 'Reason',
  kind: 'text',
  optional: true,
  hint: 'Shown to the approvers.',
};

export interface OrderFormOptions {
  readonly task: OrderTaskName;
  readonly title: string;
  readonly submit: string;
  /** The fields for an account's interface; `reason` is added. */
  readonly fields: readonly Field[] | ((account: Account | undefined) => readonly Field[]);
  /** The task's input from what was typed. */
  readonly input: (values: FormValues, account: Account | undefined) => unknown;
  /** What to fill in when the line did not say it, from the person's last order of the kind. */
  readonly remembered?: (input: Readonly<Record<string, unknown>>) => FormValues;
  /** Tasks whose last order is as good a memory as this one's. */
  readonly rememberedFrom?: readonly OrderTaskName[];
  /** Where a field of the task's input stands on the form under another name. */
  readonly fieldNames?: Readonly<Record<string, string>>;
  readonly secretField?: string;
}

/** The form of a task: filled from the line and from what the person used last in this context. */
export function orderForm(options: OrderFormOptions): FormFeature {
  const fieldsFor = (account: Account | undefined) =>
    typeof options.fields === 'function' ? options.fields(account) : options.fields;
  const form = {
    name: options.task,
    title: options.title,
    submit: options.submit,
    fields: [...fieldsFor(undefined), REASON_FIELD],
  };

  return {
    form,
    needs: 'linked',

    async render(call, origin, values): Promise<FormView> {
      const account = await activeAccount(call);
      return {
        form: { ...form, fields: [...fieldsFor(account), REASON_FIELD] },
        origin,
        values: { ...(await recall(call, account, options)), ...values },
      };
    },

    async submit(call): Promise<Submitted> {
      const account = await activeAccount(call);
      const typed = options.secretField === undefined ? undefined : textOf(call.values, options.secretField);
      if (options.secretField === 'auth' && typed === undefined) {
        return { kind: 'errors', errors: { auth: 'Give the auth code: the losing registrar has it.' } };
      }
      const outcome = await placeOrder(call, call.origin, {
        task: options.task,
        input: options.input(call.values, account),
        reason: textOf(call.values, 'reason'),
        ...(typed === undefined ? {} : { secret: new Secret(typed) }),
      });
      if (outcome.kind === 'invalid') {
        const errors: Record<string, string> = {};
        for (const { field, problem } of outcome.problems) {
          const at = options.fieldNames?.[field] ?? field;
          errors[at] = errors[at] === undefined ? problem : `${errors[at]} ${problem}`;
        }
        return { kind: 'errors', errors };
      }
      const message = outcomeMessage(outcome);
      return message === undefined ? { kind: 'done' } : { kind: 'done', say: message };
    },
  };
}

async function recall(
  call: Interaction,
  account: Account | undefined,
  options: OrderFormOptions,
): Promise<FormValues> {
  if (options.remembered === undefined || account === undefined) return {};
  for (const task of options.rememberedFrom ?? [options.task]) {
    const last = await call.deps.orders.latest(task, call.person.id, account.context);
    if (last !== undefined && typeof last.input === 'object' && last.input !== null) {
      return options.remembered({ ...last.input });
    }
  }
  return {};
}

/** A remembered value as a form shows it. */
export function remembered(value: unknown): string {
  if (Array.isArray(value)) return value.map(String).join('\n');
  return typeof value === 'string' || typeof value === 'number' ? String(value) : '';
}
