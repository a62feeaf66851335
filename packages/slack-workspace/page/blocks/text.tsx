import { type JsonObject, objectOf, objectsOf, textOf } from '../json.ts';
import { TextObject } from '../mrkdwn-text.tsx';
import { Element } from './elements.tsx';
import { Picture } from './picture.tsx';

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
  const accessory = objectOf(block, 'accessory');
  return (
    <div class="section">
      <div class="section-text">
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
      </div>
      {accessory && <Element block={block} element={accessory} />}
    </div>
  );
}

export function ContextBlock({ block }: { block: JsonObject }) {
  return (
    <div class="context">
      {objectsOf(block, 'elements').map((element, index) => (
        <span key={index}>
          {textOf(element, 'type') === 'image' ? <Picture image={element} /> : <TextObject text={element} />}
        </span>
      ))}
    </div>
  );
}

export function AlertBlock({ block }: { block: JsonObject }) {
  return (
    <div class={`alert alert-${textOf(block, 'level') ?? 'default'}`}>
      <TextObject text={objectOf(block, 'text')} />
    </div>
  );
}

export function ImageBlock({ block }: { block: JsonObject }) {
  const title = objectOf(block, 'title');
  return (
    <figure>
      {title && (
        <figcaption>
          <TextObject text={title} />
        </figcaption>
      )}
      <Picture image={block} />
    </figure>
  );
}
