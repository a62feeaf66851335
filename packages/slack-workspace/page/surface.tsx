import type { ComponentChildren } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import type { InputValue, Message, View } from '../src/protocol.ts';
import { perform } from './api.ts';
import { type Chat, type Surface, SurfaceProvider, useChat } from './chat.ts';
import { initialValue, inputKey, type Placed, stateValue } from './forms.ts';
import { objectOf } from './json.ts';

/** Acts on an element and says when the app did not take it; asks first where the element wants that. */
export async function act(
  chat: Chat,
  target: { view: string } | { channel: string; ts: string },
  { blockId, actionId, element }: Placed,
  value: InputValue | undefined,
): Promise<boolean> {
  const question = objectOf(element, 'confirm');
  if (question !== undefined && !(await chat.confirm(question))) return false;
  try {
    const { acked } = await perform('act', {
      user: chat.me.id,
      target,
      action_id: actionId,
      block_id: blockId,
      ...(value !== undefined && { value }),
    });
    if (!acked) chat.warn('The app did not respond. Try again.');
    return acked;
  } catch (error) {
    chat.warn(error instanceof Error ? error.message : String(error));
    return false;
  }
}

/** A surface whose elements act at once: a message, or the Home tab. */
function useActingSurface(
  id: string,
  target: { view: string } | { channel: string; ts: string },
  kept: (placed: Placed) => InputValue,
): Surface {
  const chat = useChat();
  const [chosen, setChosen] = useState<Readonly<Record<string, InputValue>>>({});
  const [pending, setPending] = useState<string>();
  const run = async (placed: Placed, value: InputValue | undefined): Promise<boolean> => {
    setPending(inputKey(placed));
    const taken = await act(chat, target, placed, value);
    setPending(undefined);
    return taken;
  };
  return {
    id,
    ...('ts' in target && { ts: target.ts }),
    value: (placed) => chosen[inputKey(placed)] ?? kept(placed),
    change: (placed, value) => {
      const before = chosen[inputKey(placed)] ?? kept(placed);
      setChosen((all) => ({ ...all, [inputKey(placed)]: value }));
      const isTyped = String(placed.element['type']).endsWith('_input');
      if (isTyped) return;
      void run(placed, value).then((taken) => {
        if (!taken) setChosen((all) => ({ ...all, [inputKey(placed)]: before }));
      });
    },
    enter: (placed) => void run(placed, chosen[inputKey(placed)] ?? kept(placed)),
    press: (placed, value) => {
      // The value of a button tells apart buttons that share an action id.
      const own = placed.element['value'];
      void run(placed, value ?? (typeof own === 'string' ? own : undefined));
    },
    errors: {},
    pending,
  };
}

export function MessageSurface({ message, children }: { message: Message; children: ComponentChildren }) {
  const { channel, ts } = message;
  const target = useMemo(() => ({ channel, ts }), [channel, ts]);
  const surface = useActingSurface(`m${ts.replace('.', '-')}`, target, ({ element }) =>
    initialValue(element),
  );
  return <SurfaceProvider value={surface}>{children}</SurfaceProvider>;
}

export function HomeSurface({ view, children }: { view: View; children: ComponentChildren }) {
  const target = useMemo(() => ({ view: view.id }), [view.id]);
  const surface = useActingSurface('home', target, (placed) => stateValue(view.state.values, placed));
  return <SurfaceProvider value={surface}>{children}</SurfaceProvider>;
}
