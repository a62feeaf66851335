import { SANDBOX_ACCOUNTS, SANDBOX_CONTACTS, SANDBOX_NAMESERVERS } from '@domain-steward/sandbox-service';
import type {
  Actor,
  Delivery,
  InputValue,
  Message,
  SubmitResult,
  View,
  Workspace,
} from '@domain-steward/slack-workspace';
import { z } from 'zod';
import { buttonsOf, DOMAINS, openForm, performAndWaitForView, readCommandReply } from './demo.ts';
import { type VisibleOrder, waitForOrder } from './orders.ts';

/** Opens the link form and chooses a method as a person does, which changes the fields. */
export async function openLinkForm(workspace: Workspace, person: Actor, method: string): Promise<View> {
  const view = await openForm(workspace, person, '/domain link');
  return method === 'password' ? view : chooseMethod(workspace, person, view, method);
}

const METHOD_FIELD: Readonly<Record<string, string>> = {
  password: 'user',
  trusted_application: 'uuid',
  two_factor: 'token',
};

/** Chooses a method in an open link form and waits for its fields. */
export async function chooseMethod(
  workspace: Workspace,
  person: Actor,
  view: View,
  method: string,
): Promise<View> {
  await person.changeInput(view, 'method', method);
  return workspace.waitFor(
    () =>
      person
        .openedViews()
        .find(
          (open) =>
            open.id === view.id &&
            listFields(open).includes(METHOD_FIELD[method] ?? '') &&
            (method !== 'password' || !listFields(open).includes('token')),
        ),
    { what: `the fields of ${method}` },
  );
}

/** Links Tina's two-factor account. */
export async function linkTwoFactor(workspace: Workspace, person: Actor): Promise<void> {
  const view = await openLinkForm(workspace, person, 'two_factor');
  const { user, context, password, totpSecret } = SANDBOX_ACCOUNTS.tina;
  expectFormClosed(await person.submit(view, { user, context: String(context), password, totpSecret }));
}

/** Links the sandbox's trusted application. */
export async function linkApplication(
  workspace: Workspace,
  person: Actor,
  credentials: {
    readonly uuid: string;
    readonly application: string;
    readonly password: string;
  } = SANDBOX_ACCOUNTS.trustedApplication,
): Promise<void> {
  const view = await openLinkForm(workspace, person, 'trusted_application');
  expectFormClosed(await person.submit(view, { ...credentials }));
}

export function expectFormClosed(result: SubmitResult): void {
  if (result.outcome !== 'closed') throw new Error(`the form didn't close: ${JSON.stringify(result)}`);
}

/**
 * Clicks a button whose form asks for a reason, and enters the reason.
 * @returns the form
 */
export async function giveReason(
  workspace: Workspace,
  person: Actor,
  target: Message | View,
  actionId: string,
  reason: string,
  clickOptions: { readonly value?: string } = {},
): Promise<View> {
  const click = () => person.click(target, actionId, clickOptions);
  const form = await performAndWaitForView(
    workspace,
    person,
    click,
    `the form for the reason of ${actionId}`,
  );
  expectFormClosed(await person.submit(form, { reason }));
  return form;
}

/**
 * Shows the secret of an order to its requester.
 * @returns the view with the secret
 */
export function revealOrderSecret(workspace: Workspace, person: Actor, order: VisibleOrder): Promise<View> {
  const reply = order.replies().find((message) => buttonsOf(message).includes('order_reveal'));
  if (reply === undefined) throw new Error(`no reply of order ${order.id} has a button for the secret`);
  return performAndWaitForView(
    workspace,
    person,
    () => person.click(reply, 'order_reveal'),
    'the view with the secret',
  );
}

/** Confirms a task that can lose a name: clicks the button and types the name again. */
export async function confirmByName(
  workspace: Workspace,
  person: Actor,
  draft: Message,
  name: string,
): Promise<void> {
  const click = () => person.click(draft, 'order_confirm');
  const form = await performAndWaitForView(workspace, person, click, `the form that asks to type ${name}`);
  expectFormClosed(await person.submit(form, { name }));
}

/**
 * Requests a task that needs a confirmation, and confirms it.
 * @param name typed again, if the form asks for it
 */
export async function requestAndConfirm(
  workspace: Workspace,
  person: Actor,
  text: string,
  name?: string,
): Promise<VisibleOrder> {
  const before = person.ephemerals().length;
  await person.command(DOMAINS, text);
  const draft = await workspace.waitFor(
    () =>
      person
        .ephemerals()
        .slice(before)
        .find((message) => buttonsOf(message).includes('order_confirm')),
    { what: `the confirmation after ${text}` },
  );
  return waitForOrder(workspace, () =>
    name === undefined ? person.click(draft, 'order_confirm') : confirmByName(workspace, person, draft, name),
  );
}

/** Contacts and nameservers of the sandbox, as values of form fields. */
export const CONTACTS_AND_NAMESERVERS = {
  ownerc: String(SANDBOX_CONTACTS[0]),
  adminc: String(SANDBOX_CONTACTS[1]),
  techc: String(SANDBOX_CONTACTS[2]),
  nameServers: SANDBOX_NAMESERVERS.join('\n'),
};

/** Requests the audit log as Ada, an admin, and reads the file. */
export async function downloadAuditLog(
  workspace: Workspace,
  command = '/domain audit',
): Promise<{ readonly name: string; readonly csv: string }> {
  const ada = workspace.as('U0ADA');
  const listFileMessages = () => workspace.messages('D0ADA').filter(({ files }) => files !== undefined);
  const before = listFileMessages().length;
  // The reply comes after the file. Without waiting for it, the next command could read it as its own.
  await readCommandReply(workspace, ada, command);
  const file = await workspace.waitFor(() => listFileMessages()[before]?.files?.[0], {
    what: `the file of ${command}`,
  });
  // Read as bytes, because reading it as text would remove the byte order mark.
  const bytes = await (await fetch(new URL(file.url_private_download, workspace.url))).arrayBuffer();
  return { name: file.name, csv: Buffer.from(bytes).toString('utf8') };
}

/** The names of a form's fields, in order. */
export function listFields(view: View): string[] {
  return view.blocks.filter(({ type }) => type === 'input').map((block) => String(block['block_id']));
}

/** The values that a form shows in its fields. */
export function readFieldValues(view: View): Record<string, InputValue> {
  const values: Record<string, InputValue> = {};
  for (const [field, inputs] of Object.entries(view.state.values)) {
    for (const state of Object.values(inputs)) {
      const option = state['selected_option'];
      const value =
        typeof option === 'object' && option !== null && !Array.isArray(option)
          ? option['value']
          : state['value'];
      if (typeof value === 'string') values[field] = value;
    }
  }
  return values;
}

/** The options of a form's menu. */
export function listOptions(view: View, field: string): string[] {
  const block = z
    .object({ element: z.object({ options: z.array(z.object({ value: z.string() })) }) })
    .parse(view.blocks.find(({ block_id }) => block_id === field));
  return block.element.options.map(({ value }) => value);
}

/** Waits for a matching ephemeral message. @returns the newest one */
export function waitForEphemeral(
  workspace: Workspace,
  person: Actor,
  what: string,
  matches: (message: Message) => boolean,
): Promise<Message> {
  return workspace.waitFor(() => person.ephemerals().findLast(matches), { what });
}

const actionBlocks = z.array(
  // A menu has no value.
  z.object({
    elements: z.array(z.object({ action_id: z.string(), value: z.string().default('') })).optional(),
  }),
);

/** The value of a button of a message. */
export function buttonValue(message: Message, actionId: string): string {
  const found = actionBlocks
    .parse(message.blocks.filter(({ type }) => type === 'actions'))
    .flatMap(({ elements }) => elements ?? [])
    .find(({ action_id }) => action_id === actionId);
  if (found === undefined) throw new Error(`"${message.text}" has no button ${actionId}`);
  return found.value;
}

/** Forges another person's click, with a valid signature. */
export async function forgeClick(
  workspace: Workspace,
  userId: string,
  actionId: string,
  value: string,
): Promise<void> {
  const delivered = workspace.deliveries.findLast((delivery): delivery is Delivery =>
    JSON.stringify(delivery.payload['actions'] ?? '').includes(actionId),
  );
  if (delivered === undefined) throw new Error(`no click on ${actionId} was delivered yet`);
  const text = JSON.stringify({ ...delivered.payload, user: { id: userId, team_id: workspace.teamId } });
  const actions = [{ type: 'button', action_id: actionId, block_id: 'forged', value, action_ts: '1.000001' }];
  const { response_url: _theirs, ...payload } = JSON.parse(text);
  await workspace.redeliver({ ...delivered, payload: { ...payload, actions } });
}
