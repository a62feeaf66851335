import type { Actor, Delivery, Message, View, Workspace } from '@domain-steward/slack-workspace';
import { actUntilOpened, buttonsOf, textOf } from './demo.ts';

/** Opens everything that an order sends, from a message or the Home tab. */
export function openDetails(
  workspace: Workspace,
  person: Actor,
  target: Message | View,
  value?: string,
): Promise<View> {
  const which = value === undefined ? {} : { value };
  return actUntilOpened(workspace, person, () => person.click(target, 'order_look', which));
}

/** Opens everything that an order sends, and approves it in that view. */
export async function approveInDetails(workspace: Workspace, person: Actor, card: Message): Promise<void> {
  await person.click(await openDetails(workspace, person, card), 'order_approve');
}

/** The text behind *Details* of a card, as a person reads it. */
export async function detailsOf(workspace: Workspace, person: Actor, card: Message): Promise<string> {
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
    const shown = textOf(view);
    await person.click(view, 'order_look_next');
    pages.push(
      await workspace.waitFor(
        () => {
          const text = textOf(getCurrentView(person, first));
          return text === shown ? undefined : text;
        },
        { what: 'the next page' },
      ),
    );
  }
  return pages;
}

/** Text of blocks as people see it: without escapes, and without characters that keep Slack from reading markup. */
export function removeEscapes(text: string): string {
  return text
    .replaceAll('\u2060', '')
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&amp;', '&');
}

/**
 * Approves with the button of a card, whether or not the card offers it. A person who can't cancel clicks that first,
 * which changes nothing; then Slack's delivery is repeated with the other button.
 */
export async function approveOn(workspace: Workspace, person: Actor, card: Message): Promise<void> {
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
