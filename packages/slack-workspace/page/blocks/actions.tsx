import { useChat, useSurface } from '../chat.ts';
import { replaceShortcodes } from '../emoji.ts';
import { getInputKey, locateElement, optionsOf, type PlacedElement } from '../forms.ts';
import { displayTextOf, type JsonObject, objectsOf, textOf } from '../json.ts';
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
  const { sendAction } = useSurface();
  const entries = optionsOf(place.element).map(({ text, value }) => ({
    text: replaceShortcodes(text),
    value,
    run: () => sendAction(place, value),
  }));
  return <Menu label="More actions" action={place.actionId} entries={entries} />;
}

function Button({ place }: { place: PlacedElement }) {
  const { target } = useChat();
  const { sendAction, pendingKey, ts } = useSurface();
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
      aria-busy={pendingKey === getInputKey(place)}
      data-action={actionId}
      onClick={() => sendAction(place)}
    >
      {replaceShortcodes(displayTextOf(element, 'text'))}
    </button>
  );
}

/** A menu whose choice is sent immediately. */
function Select({ place }: { place: PlacedElement }) {
  const { sendAction, pendingKey } = useSurface();
  const { element, actionId } = place;
  const placeholder = displayTextOf(element, 'placeholder') || 'Select an option';
  return (
    <select
      class="select"
      aria-label={placeholder}
      aria-busy={pendingKey === getInputKey(place)}
      data-action={actionId}
      value=""
      onChange={({ currentTarget }) => {
        sendAction(place, currentTarget.value);
        currentTarget.value = '';
      }}
    >
      <option value="">{placeholder}</option>
      {optionsOf(element).map((option) => (
        <option key={option.value} value={option.value}>
          {replaceShortcodes(option.text)}
        </option>
      ))}
    </select>
  );
}
