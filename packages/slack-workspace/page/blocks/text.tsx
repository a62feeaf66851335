import { locateElement } from '../forms.ts';
import { type JsonObject, objectOf, objectsOf } from '../json.ts';
import { TextObject } from '../mrkdwn-text.tsx';
import { ActionElement } from './actions.tsx';

export function HeaderBlock({ block }: { block: JsonObject }) {
  return (
    <h3>
      <TextObject text={objectOf(block, 'text')} />
    </h3>
  );
}

export function SectionBlock({ block }: { block: JsonObject }) {
  const text = objectOf(block, 'text');
  const fields = objectsOf(block, 'fields');
  const accessory = locateElement(block, objectOf(block, 'accessory'));
  return (
    <>
      {accessory && (
        <div class="accessory">
          <ActionElement place={accessory} />
        </div>
      )}
      {text && <TextObject text={text} />}
      {fields.length > 0 && (
        <div class="fields">
          {fields.map((field, index) => (
            <div key={index} class="field">
              <TextObject text={field} />
            </div>
          ))}
        </div>
      )}
    </>
  );
}

export function ContextBlock({ block }: { block: JsonObject }) {
  return (
    <div class="context">
      {objectsOf(block, 'elements').map((element, index) => (
        <span key={index}>
          <TextObject text={element} />
        </span>
      ))}
    </div>
  );
}
