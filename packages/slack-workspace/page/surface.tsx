import type { ComponentChildren } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import type { Message, View } from '../src/protocol.ts';
import { sendRequest } from './api.ts';
import { type Chat, type Surface, SurfaceProvider, useChat } from './chat.ts';
import { getInputKey, type PlacedElement } from './forms.ts';
import { textOf } from './json.ts';

/** Clicks a button, and shows an error if the app didn't accept it. */
export async function act(
  chat: Chat,
  target: { view: string } | { channel: string; ts: string },
  { blockId, actionId, element }: PlacedElement,
  chosen?: string,
): Promise<void> {
  // A button's value distinguishes buttons with the same action id.
  const value = chosen ?? textOf(element, 'value');
  try {
    const { acked } = await sendRequest('act', {
      user: chat.me.id,
      target,
      action_id: actionId,
      block_id: blockId,
      ...(value !== undefined && { value }),
    });
    if (!acked) chat.warn('The app did not respond. Try again.');
  } catch (error) {
    chat.warn(error instanceof Error ? error.message : String(error));
  }
}

/** A message, or the Home tab: a surface with buttons and no inputs. */
function useActingSurface(id: string, target: { view: string } | { channel: string; ts: string }): Surface {
  const chat = useChat();
  const [pendingKey, setPending] = useState<string>();
  return {
    id,
    ...('ts' in target && { ts: target.ts }),
    getValue: () => null,
    setValue: () => undefined,
    handleEnter: () => undefined,
    sendAction: (placed, chosen) => {
      setPending(getInputKey(placed));
      void act(chat, target, placed, chosen).then(() => setPending(undefined));
    },
    errors: {},
    pendingKey,
  };
}

export function MessageSurface({ message, children }: { message: Message; children: ComponentChildren }) {
  const { channel, ts } = message;
  const target = useMemo(() => ({ channel, ts }), [channel, ts]);
  const surface = useActingSurface(`m${ts.replace('.', '-')}`, target);
  return <SurfaceProvider value={surface}>{children}</SurfaceProvider>;
}

export function HomeSurface({ view, children }: { view: View; children: ComponentChildren }) {
  const target = useMemo(() => ({ view: view.id }), [view.id]);
  const surface = useActingSurface('home', target);
  return <SurfaceProvider value={surface}>{children}</SurfaceProvider>;
}
