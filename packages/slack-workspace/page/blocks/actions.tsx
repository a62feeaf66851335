import { useChat, useSurface } from '../chat.ts';
import { withEmoji } from '../emoji.ts';
import { inputKey, locateElement, optionsOf, type PlacedElement } from '../forms.ts';
import { type JsonObject, objectsOf, textOf, wordsOf } from '../json.ts';
import { Menu } from '../menu.tsx';

export function ActionsBlock({ block }: { block: JsonObject }) {
  return (
    <div class="actions">
      {objectsOf(block, 'elements').map((element, index) => {
        const place = locateElement(block, element);
        if (place === undefined) return undefined;
        return <ActionElement key={String(element['action_id'] ?? index)} place={place} />;
      })}
    </div>
  );
}

/** A button, or a menu whose choice is sent immediately. */
export function ActionElement({ place }: { place: PlacedElement }) {
  switch (textOf(place.element, 'type')) {
    case 'static_select':
      return <Select place={place} />;
    case 'overflow':
      return <Overflow place={place} />;
    default:
      return <Button place={place} />;
  }
}

function Overflow({ place }: { place: PlacedElement }) {
  const { press } = useSurface();
  const entries = optionsOf(place.element).map(({ text, value }) => ({
    text: withEmoji(text),
    value,
    run: () => press(place, value),
  }));
  return <Menu label="More actions" action={place.actionId} entries={entries} />;
}

function Button({ place }: { place: PlacedElement }) {
  const { target } = useChat();
  const { press, pending, ts } = useSurface();
  const { element, actionId } = place;
  const style = textOf(element, 'style');
  const next =
    target?.kind === 'action' &&
    target.ts === ts &&
    target.actionId === actionId &&
    (target.value ?? textOf(element, 'value')) === textOf(element, 'value');
  return (
    <button
      type="button"
      class={['button', style && `button-${style}`, next && 'next'].filter(Boolean).join(' ')}
      aria-label={textOf(element, 'accessibility_label')}
      aria-busy={pending === inputKey(place)}
      data-action={actionId}
      onClick={() => press(place)}
    >
      {withEmoji(wordsOf(element, 'text'))}
    </button>
  );
}

/** A menu whose choice is sent immediately. */
function Select({ place }: { place: PlacedElement }) {
  const { press, pending } = useSurface();
  const { element, actionId } = place;
  const placeholder = wordsOf(element, 'placeholder') || 'Select an option';
  return (
    <select
      class="select"
      aria-label={placeholder}
      aria-busy={pending === inputKey(place)}
      data-action={actionId}
      value=""
      onChange={({ currentTarget }) => {
        press(place, currentTarget.value);
        currentTarget.value = '';
      }}
    >
      <option value="">{placeholder}</option>
      {optionsOf(element).map((option) => (
        <option key={option.value} value={option.value}>
          {withEmoji(option.text)}
        </option>
      ))}
    </select>
  );
}
