import type { TargetedEvent } from 'preact';
import type { InputValue } from '../../src/protocol.ts';
import { sendRequest } from '../api.ts';
import { useChat, useSurface } from '../chat.ts';
import { replaceShortcodes } from '../emoji.ts';
import { listChoices, type PlacedElement } from '../forms.ts';
import { displayTextOf, textOf } from '../json.ts';

/** The name and description of a control; a label points to `id`. */
export interface ControlProps {
  place: PlacedElement;
  id: string;
  /** Set where no `<label>` points to the control. */
  label?: string;
  describedBy: string | undefined;
  invalid: boolean;
  required: boolean;
}

export function Control(props: ControlProps) {
  switch (textOf(props.place.element, 'type')) {
    case 'checkboxes':
    case 'multi_static_select':
    case 'multi_users_select':
      return <ManyOf {...props} />;
    case 'static_select':
    case 'users_select':
    case 'conversations_select':
      return <Select {...props} />;
    case 'file_input':
      return <FileField {...props} />;
    default:
      return <TextField {...props} />;
  }
}

const textValue = (value: InputValue): string => (typeof value === 'string' ? value : '');
const listValue = (value: InputValue): string[] =>
  Array.isArray(value) ? value : value === null ? [] : [value];

function attributes({ id, describedBy, invalid, required, place }: ControlProps) {
  return {
    id,
    name: place.actionId,
    'aria-describedby': describedBy,
    'aria-invalid': invalid ? true : undefined,
    'aria-required': required ? true : undefined,
  };
}

function TextField(props: ControlProps) {
  const surface = useSurface();
  const { place } = props;
  const { element } = place;
  const shared = {
    ...attributes(props),
    class: 'text-field',
    value: textValue(surface.getValue(place)),
    placeholder: displayTextOf(element, 'placeholder'),
    autocomplete: 'off',
    spellcheck: false,
  };
  if (element['multiline'] === true) {
    return (
      <textarea
        {...shared}
        rows={5}
        onInput={({ currentTarget }) => surface.setValue(place, currentTarget.value)}
      />
    );
  }
  const own = {
    ...shared,
    onInput: ({ currentTarget }: TargetedEvent<HTMLInputElement>) =>
      surface.setValue(place, currentTarget.value),
    onKeyDown: ({ key }: KeyboardEvent) => {
      if (key === 'Enter') surface.handleEnter(place);
    },
  };
  switch (textOf(element, 'type')) {
    case 'email_text_input':
      return <input {...own} type="email" />;
    case 'number_input':
      return <input {...own} type="text" inputMode="numeric" />;
    default:
      return <input {...own} type="text" />;
  }
}

/** Uploads chosen files immediately; the form contains their ids. */
function FileField(props: ControlProps) {
  const surface = useSurface();
  const { me } = useChat();
  const { place } = props;
  const choose = async (file: File | undefined): Promise<void> => {
    if (file === undefined) return surface.setValue(place, []);
    const bytes = new Uint8Array(await file.arrayBuffer());
    const content = btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(''));
    const { id } = await sendRequest('upload', { user: me.id, name: file.name, content });
    surface.setValue(place, [id]);
  };
  return (
    <input
      {...attributes(props)}
      class="file-field"
      type="file"
      onChange={({ currentTarget }) => void choose(currentTarget.files?.[0])}
    />
  );
}

function Select(props: ControlProps) {
  const surface = useSurface();
  const { snapshot } = useChat();
  const { place } = props;
  const value = textValue(surface.getValue(place));
  return (
    <select
      {...attributes(props)}
      class="select"
      onChange={({ currentTarget }) =>
        surface.setValue(place, currentTarget.value === '' ? null : currentTarget.value)
      }
    >
      <option value="" selected={value === ''}>
        {displayTextOf(place.element, 'placeholder') || 'Select an option'}
      </option>
      {listChoices(place.element, snapshot).map((option) => (
        <option key={option.value} value={option.value} selected={option.value === value}>
          {replaceShortcodes(option.text)}
        </option>
      ))}
    </select>
  );
}

function ManyOf({ place, id, describedBy, invalid, label }: ControlProps) {
  const surface = useSurface();
  const { snapshot } = useChat();
  const chosen = listValue(surface.getValue(place));
  const all = listChoices(place.element, snapshot);
  const toggle = (value: string, on: boolean): void => {
    const wanted = new Set(on ? [...chosen, value] : chosen.filter((one) => one !== value));
    surface.setValue(
      place,
      all.map((option) => option.value).filter((one) => wanted.has(one)),
    );
  };
  return (
    <fieldset
      class="choices"
      id={id}
      aria-label={label}
      aria-describedby={describedBy}
      data-invalid={invalid ? '' : undefined}
    >
      {all.map((option) => (
        <label key={option.value} class="choice">
          <input
            type="checkbox"
            name={place.actionId}
            value={option.value}
            checked={chosen.includes(option.value)}
            onChange={({ currentTarget }) => toggle(option.value, currentTarget.checked)}
          />
          <span>{replaceShortcodes(option.text)}</span>
        </label>
      ))}
    </fieldset>
  );
}
