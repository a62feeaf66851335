import { useId } from 'preact/hooks';
import { type JsonObject, objectOf, textOf, wordsOf } from './json.ts';
import { Modal } from './modal.tsx';
import { TextObject } from './mrkdwn-text.tsx';

export interface Question {
  question: JsonObject;
  answer(yes: boolean): void;
}

/** What a `confirm` object asks before an element acts. */
export function ConfirmDialog({ question, answer }: Question) {
  const title = useId();
  const style = textOf(question, 'style') === 'danger' ? 'danger' : 'primary';
  return (
    <Modal labelledBy={title} onCancel={() => answer(false)}>
      <div class="modal-frame">
        <h2 id={title}>{wordsOf(question, 'title') || 'Are you sure?'}</h2>
        <div class="modal-body">
          <TextObject text={objectOf(question, 'text')} />
        </div>
        <footer>
          <button type="button" class="button" onClick={() => answer(false)}>
            {wordsOf(question, 'deny') || 'Cancel'}
          </button>
          <button type="button" class={`button button-${style}`} onClick={() => answer(true)}>
            {wordsOf(question, 'confirm') || 'Yes'}
          </button>
        </footer>
      </div>
    </Modal>
  );
}
