import type { TargetedEvent } from 'preact';
import type { InputValue } from '../../src/protocol.ts';
import { useChat, useSurface } from '../chat.ts';
import { channelName } from '../conversation.ts';
import { withEmoji } from '../emoji.ts';
import { type Option, optionGroups, type Placed } from '../forms.ts';
import { textOf, wordsOf } from '../json.ts';

/** How a control is named and described; `id` is on what a label points to. */
export interface ControlProps {
  place: Placed;
  /** Set where no `<label>` points to the control. */
  label?: string;
  id?: string;
  describedBy?: string | undefined;
  invalid?: boolean;
  required?: boolean;
  focused?: boolean;
}

interface Group {
  label: string;
  options: Option[];
}

/** An element that holds a value. */
export function Control(props: ControlProps) {
  const { element } = props.place;
  const { users, channels, me } = useChat();
  const type = textOf(element, 'type') ?? '';
  const people: Group = {
    label: '',
    options: [...users.values()]
      .filter(({ is_bot }) => !is_bot)
      .map(({ id, real_name }) => ({ value: id, text: real_name, description: '' })),
  };
  const places: Group = {
    label: '',
    options: [...channels.values()]
      .filter(({ is_im }) => !is_im || type.includes('conversations'))
      .map((channel) => ({
        value: channel.id,
        text: `${channel.is_im ? '' : '#'}${channelName(channel, me.id, users)}`,
        description: '',
      })),
  };
  switch (type) {
    case 'checkboxes':
    case 'multi_static_select':
      return <ManyOf {...props} groups={optionGroups(element)} />;
    case 'multi_users_select':
      return <ManyOf {...props} groups={[people]} />;
    case 'multi_channels_select':
    case 'multi_conversations_select':
      return <ManyOf {...props} groups={[places]} />;
    case 'radio_buttons':
      return <OneOf {...props} groups={optionGroups(element)} />;
    case 'static_select':
      return <Select {...props} groups={optionGroups(element)} />;
    case 'users_select':
      return <Select {...props} groups={[people]} />;
    case 'channels_select':
    case 'conversations_select':
      return <Select {...props} groups={[places]} />;
    case 'plain_text_input':
    case 'number_input':
    case 'email_text_input':
    case 'url_text_input':
    case 'datepicker':
    case 'timepicker':
      return <TextField {...props} />;
    default:
      return <span class="unknown">An input of the type {type}, which this page does not draw</span>;
  }
}

const textValue = (value: InputValue): string => (typeof value === 'string' ? value : '');
const listValue = (value: InputValue): string[] =>
  Array.isArray(value) ? value : value === null ? [] : [value];

function attributes({ id, label, describedBy, invalid, required, place, focused }: ControlProps) {
  return {
    id,
    name: place.actionId,
    'aria-label': label,
    'aria-describedby': describedBy,
    'aria-invalid': invalid === true ? true : undefined,
    'aria-required': required === true ? true : undefined,
    autofocus: focused === true,
  };
}

function TextField(props: ControlProps) {
  const surface = useSurface();
  const { place } = props;
  const { element } = place;
  const type = textOf(element, 'type') ?? '';
  const shared = {
    ...attributes(props),
    class: 'text-field',
    value: textValue(surface.value(place)),
    placeholder: wordsOf(element, 'placeholder'),
    autocomplete: 'off',
    spellcheck: false,
  };
  if (element['multiline'] === true) {
    return (
      <textarea
        {...shared}
        rows={5}
        onInput={({ currentTarget }) => surface.change(place, currentTarget.value)}
      />
    );
  }
  const own = {
    ...shared,
    onInput: ({ currentTarget }: TargetedEvent<HTMLInputElement>) =>
      surface.change(place, currentTarget.value),
    onKeyDown: ({ key }: KeyboardEvent) => {
      if (key === 'Enter') surface.enter(place);
    },
  };
  switch (type) {
    case 'email_text_input':
      return <input {...own} type="email" />;
    case 'datepicker':
      return <input {...own} type="date" />;
    case 'timepicker':
      return <input {...own} type="time" />;
    case 'number_input':
      return <input {...own} type="text" inputMode="numeric" />;
    default:
      return <input {...own} type="text" />;
  }
}

function Select(props: ControlProps & { groups: readonly Group[] }) {
  const surface = useSurface();
  const { place, groups } = props;
  const value = textValue(surface.value(place));
  const placeholder = wordsOf(place.element, 'placeholder') || 'Select an option';
  const options = (list: readonly Option[]) =>
    list.map((option) => (
      <option key={option.value} value={option.value} selected={option.value === value}>
        {withEmoji(option.text)}
      </option>
    ));
  return (
    <select
      {...attributes(props)}
      class="select"
      onChange={({ currentTarget }) =>
        surface.change(place, currentTarget.value === '' ? null : currentTarget.value)
      }
    >
      <option value="" selected={value === ''}>
        {placeholder}
      </option>
      {groups.map(({ label, options: list }) =>
        label === '' ? (
          options(list)
        ) : (
          <optgroup key={label} label={label}>
            {options(list)}
          </optgroup>
        ),
      )}
    </select>
  );
}

function ManyOf(props: ControlProps & { groups: readonly Group[] }) {
  const surface = useSurface();
  const { place, groups, id, describedBy, invalid, label, focused } = props;
  const chosen = listValue(surface.value(place));
  const all = groups.flatMap(({ options }) => options);
  const toggle = (value: string, on: boolean): void => {
    const wanted = new Set(on ? [...chosen, value] : chosen.filter((one) => one !== value));
    surface.change(
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
      data-invalid={invalid === true ? '' : undefined}
    >
      {all.map((option, index) => (
        <label key={option.value} class="choice">
          <input
            type="checkbox"
            name={place.actionId}
            value={option.value}
            checked={chosen.includes(option.value)}
            autofocus={focused === true && index === 0}
            onChange={({ currentTarget }) => toggle(option.value, currentTarget.checked)}
          />
          <OptionText option={option} />
        </label>
      ))}
    </fieldset>
  );
}

function OneOf(props: ControlProps & { groups: readonly Group[] }) {
  const surface = useSurface();
  const { place, groups, id, describedBy, label } = props;
  const chosen = textValue(surface.value(place));
  return (
    <div class="choices" role="radiogroup" id={id} aria-label={label} aria-describedby={describedBy}>
      {groups
        .flatMap(({ options }) => options)
        .map((option) => (
          <label key={option.value} class="choice">
            <input
              type="radio"
              name={`${surface.id}-${place.actionId}`}
              value={option.value}
              checked={option.value === chosen}
              onChange={() => surface.change(place, option.value)}
            />
            <OptionText option={option} />
          </label>
        ))}
    </div>
  );
}

function OptionText({ option }: { option: Option }) {
  return (
    <span>
      {withEmoji(option.text)}
      {option.description !== '' && <small>{withEmoji(option.description)}</small>}
    </span>
  );
}
