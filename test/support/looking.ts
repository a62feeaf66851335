import type { Actor, Delivery, Message, View, Workspace } from '@domain-steward/slack-workspace';
import { buttonsOf, performAndWaitForView, textOf } from './demo.ts';

/** Opens an order's details, from a message or the Home tab. */
export function openDetails(
  workspace: Workspace,
  person: Actor,
  target: Message | View,
  value?: string,
): Promise<View> {
  const clickOptions = value === undefined ? {} : { value };
  return performAndWaitForView(workspace, person, () => person.click(target, 'order_look', clickOptions));
}

/** Opens an order's details, and approves it in that view. */
export async function approveInDetails(workspace: Workspace, person: Actor, card: Message): Promise<void> {
  await person.click(await openDetails(workspace, person, card), 'order_approve');
}

/** Opens a card's details, reads every page, and closes them. */
export async function readDetails(workspace: Workspace, person: Actor, card: Message): Promise<string> {
  const view = await openDetails(workspace, person, card);
  const pages = await readAllPages(workspace, person, view);
  person.close(getCurrentView(person, view));
  return pages.join('\n');
}

/** The view's current version. */
export function getCurrentView(person: Actor, { id }: View): View {
  const view = person.openedViews().find((open) => open.id === id);
  if (view === undefined) throw new Error(`the view ${id} is closed`);
  return view;
}

/** The texts of all pages, in order. */
export async function readAllPages(workspace: Workspace, person: Actor, first: View): Promise<string[]> {
  const pages = [textOf(first)];
  for (let view = first; buttonsOf(view).includes('order_look_next'); view = getCurrentView(person, first)) {
    const previousText = textOf(view);
    await person.click(view, 'order_look_next');
    pages.push(
      await workspace.waitFor(
        () => {
          const text = textOf(getCurrentView(person, first));
          return text === previousText ? undefined : text;
        },
        { what: 'the next page' },
      ),
    );
  }
  return pages;
}

/** Text of blocks as people see it: without escapes, and without the word joiners that prevent markup. */
export function removeEscapes(text: string): string {
  return text
    .replaceAll('\u2060', '')
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&amp;', '&');
}

/**
 * Approves a card, even if it has no Approve button. First the person clicks Cancel, which they must not be allowed to
 * do; then that delivery is repeated as a click on Approve.
 */
export async function forgeApproval(workspace: Workspace, person: Actor, card: Message): Promise<void> {
  await person.click(card, 'order_cancel');
  const delivered = workspace.deliveries.findLast((delivery): delivery is Delivery =>
    JSON.stringify(delivery.payload['actions'] ?? '').includes('order_cancel'),
  );
  if (delivered === undefined) throw new Error('the click was not delivered');
  const payload: Delivery['payload'] = JSON.parse(
    JSON.stringify(delivered.payload).replaceAll('order_cancel', 'order_approve'),
  );
  await workspace.redeliver({ ...delivered, payload });
}
