import type { Actor, Delivery, Message, View, Workspace } from '@domain-steward/slack-workspace';
import { buttonsOf, openedAfter, textOf } from './demo.ts';

/** Opens all that an order sends, from a message or the Home tab. */
export function openLook(
  workspace: Workspace,
  person: Actor,
  target: Message | View,
  value?: string,
): Promise<View> {
  const which = value === undefined ? {} : { value };
  return openedAfter(workspace, person, () => person.click(target, 'order_look', which));
}

/** Looks at all that an order sends, and approves it there. */
export async function approveWhereItStands(
  workspace: Workspace,
  person: Actor,
  card: Message,
): Promise<void> {
  await person.click(await openLook(workspace, person, card), 'order_approve');
}

/** What stands behind *Details* of a card, as a person reads it. */
export async function detailsOf(workspace: Workspace, person: Actor, card: Message): Promise<string> {
  const view = await openLook(workspace, person, card);
  const pages = await allPages(workspace, person, view);
  person.close(viewNow(person, view));
  return pages.join('\n');
}

/** The view as it is by now. */
export function viewNow(person: Actor, { id }: View): View {
  const view = person.openedViews().find((open) => open.id === id);
  if (view === undefined) throw new Error(`the view ${id} is closed`);
  return view;
}

/** The texts of all pages, from the first to the last. */
export async function allPages(workspace: Workspace, person: Actor, first: View): Promise<string[]> {
  const pages = [textOf(first)];
  for (let view = first; buttonsOf(view).includes('order_look_next'); view = viewNow(person, first)) {
    const shown = textOf(view);
    await person.click(view, 'order_look_next');
    pages.push(
      await workspace.waitFor(
        () => {
          const text = textOf(viewNow(person, first));
          return text === shown ? undefined : text;
        },
        { what: 'the next page' },
      ),
    );
  }
  return pages;
}

/** Text of blocks as people see it: without escapes, and without what keeps Slack from reading markup. */
export function asSeen(text: string): string {
  return text
    .replaceAll('\u2060', '')
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&amp;', '&');
}

/**
 * Approves with the button of a card, whether or not the card offers it. Somebody who may not cancel presses that first, which
 * changes nothing: what Slack delivers then is delivered again with the other button.
 */
export async function approveOn(workspace: Workspace, person: Actor, card: Message): Promise<void> {
  await person.click(card, 'order_cancel');
  const pressed = workspace.deliveries.findLast((delivery): delivery is Delivery =>
    JSON.stringify(delivery.payload['actions'] ?? '').includes('order_cancel'),
  );
  if (pressed === undefined) throw new Error('the press was not delivered');
  const payload: Delivery['payload'] = JSON.parse(
    JSON.stringify(pressed.payload).replaceAll('order_cancel', 'order_approve'),
  );
  await workspace.redeliver({ ...pressed, payload });
}
