import { useSurface } from '../chat.ts';
import { replaceShortcodes } from '../emoji.ts';
import { locateElement } from '../forms.ts';
import { displayTextOf, type JsonObject, objectOf, textOf } from '../json.ts';
import { Control } from './controls.tsx';

const GROUPS = ['checkboxes', 'multi_static_select', 'multi_users_select'];

export function InputBlock({ block }: { block: JsonObject }) {
  const surface = useSurface();
  const element = objectOf(block, 'element');
  const place = locateElement(block, element);
  if (place === undefined) return null;
  const id = `${surface.id}-${place.blockId}`;
  const hint = displayTextOf(block, 'hint');
  const error = surface.errors[place.blockId];
  const describedBy = [error !== undefined && `${id}-error`, hint !== '' && `${id}-hint`]
    .filter(Boolean)
    .join(' ');
  const label = replaceShortcodes(displayTextOf(block, 'label'));
  const optional = block['optional'] === true;
  const isGroup = GROUPS.includes(textOf(element, 'type') ?? '');
  const shown = (
    <>
      {label}
      {optional && <span class="optional"> (optional)</span>}
    </>
  );
  return (
    <div class="input">
      {isGroup ? (
        <div class="label">{shown}</div>
      ) : (
        <label class="label" htmlFor={id}>
          {shown}
        </label>
      )}
      <Control
        place={place}
        id={id}
        {...(isGroup && { label })}
        describedBy={describedBy === '' ? undefined : describedBy}
        invalid={error !== undefined}
        required={!optional}
      />
      {error !== undefined && (
        <p class="error" id={`${id}-error`}>
          {replaceShortcodes(error)}
        </p>
      )}
      {hint !== '' && (
        <p class="hint" id={`${id}-hint`}>
          {replaceShortcodes(hint)}
        </p>
      )}
    </div>
  );
}
