import { useChat, useSurface } from '../chat.ts';
import { withEmoji } from '../emoji.ts';
import { inputKey, optionGroups, type Placed, placed } from '../forms.ts';
import { type JsonObject, textOf, wordsOf } from '../json.ts';
import { Menu } from '../menu.tsx';
import { Control } from './controls.tsx';
import { Picture } from './picture.tsx';

/** An element outside of an input block: a button, a menu, a choice that acts at once. */
export function Element({ block, element }: { block: JsonObject; element: JsonObject }) {
  const type = textOf(element, 'type');
  if (type === 'image') return <Picture image={element} />;
  const place = placed(block, element);
  if (place === undefined) return <Unknown type={type} />;
  if (type === 'button') return <Button place={place} />;
  if (type === 'overflow') return <Overflow place={place} />;
  const label = textOf(element, 'accessibility_label') ?? (wordsOf(element, 'placeholder') || place.actionId);
  return <Control place={place} label={label} />;
}

function Unknown({ type }: { type: string | undefined }) {
  return <span class="unknown">An element of the type {type ?? 'without a type'}</span>;
}

function Button({ place }: { place: Placed }) {
  const { target } = useChat();
  const { press, pending, ts } = useSurface();
  const { element, actionId } = place;
  const style = textOf(element, 'style');
  const next = target?.kind === 'action' && target.ts === ts && target.actionId === actionId;
  const url = textOf(element, 'url');
  const label = textOf(element, 'accessibility_label');
  return (
    <button
      type="button"
      class={['button', style && `button-${style}`, next && 'next'].filter(Boolean).join(' ')}
      aria-label={label}
      aria-busy={pending === inputKey(place)}
      data-action={actionId}
      onClick={() => {
        if (url !== undefined && /^https?:/.test(url)) open(url, '_blank', 'noreferrer');
        press(place);
      }}
    >
      {withEmoji(wordsOf(element, 'text'))}
    </button>
  );
}

function Overflow({ place }: { place: Placed }) {
  const { press } = useSurface();
  const entries = optionGroups(place.element)
    .flatMap(({ options }) => options)
    .map(({ value, text }) => ({ text, run: () => press(place, value) }));
  return <Menu label={textOf(place.element, 'accessibility_label') ?? 'More'} entries={entries} />;
}
