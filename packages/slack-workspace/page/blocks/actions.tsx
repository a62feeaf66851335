import { type JsonObject, objectsOf } from '../json.ts';
import { Element } from './elements.tsx';

export function ActionsBlock({ block }: { block: JsonObject }) {
  return (
    <div class="actions">
      {objectsOf(block, 'elements').map((element, index) => (
        <Element key={String(element['action_id'] ?? index)} block={block} element={element} />
      ))}
    </div>
  );
}
