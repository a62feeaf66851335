import { useEffect, useId, useRef, useState } from 'preact/hooks';
import type { InputValue, View } from '../src/protocol.ts';
import { sendRequest } from './api.ts';
import { Blocks } from './blocks/blocks.tsx';
import { type Surface, SurfaceProvider, useChat } from './chat.ts';
import { replaceShortcodes } from './emoji.ts';
import { findInputs, getInputKey, type PlacedElement, readStateValue } from './forms.ts';
import { CloseIcon } from './icons.tsx';
import { textOf } from './json.ts';
import { Modal } from './modal.tsx';
import { act } from './surface.tsx';

const NO_ANSWER = 'The app did not respond. Try again.';

/** A view of the app: a form, or only text. Typed values stay here until they are sent. */
export function FormDialog({ view }: { view: View }) {
  const chat = useChat();
  const id = useId();
  const [typed, setTyped] = useState<Readonly<Record<string, InputValue>>>({});
  const [errors, setErrors] = useState<Readonly<Record<string, string>>>({});
  const [failure, setFailure] = useState<string>();
  const [busy, setBusy] = useState(false);
  const [pendingKey, setPending] = useState<string>();
  const body = useRef<HTMLDivElement>(null);
  const user = chat.me.id;
  const guided = chat.target?.kind === 'form' && chat.target.callbackId === view.callback_id;
  const isTyped = Object.keys(typed).length > 0;

  useEffect(() => {
    if (Object.keys(errors).length === 0) return;
    const wrong = body.current?.querySelector<HTMLElement>('[aria-invalid=true], [data-invalid] input');
    wrong?.focus();
  }, [errors]);

  const failed = (error: unknown): void => {
    setFailure(error instanceof Error ? error.message : NO_ANSWER);
    setBusy(false);
    setPending(undefined);
  };

  /** Sends all typed values to the workspace, because the app gets them with the event of one input. */
  const dispatch = async (place: PlacedElement, value: InputValue): Promise<void> => {
    setPending(getInputKey(place));
    const others = findInputs(view).filter((one) => getInputKey(one) !== getInputKey(place));
    for (const one of others) {
      const own = typed[getInputKey(one)];
      // Inputs that dispatch have already sent theirs.
      if (own === undefined || one.block['dispatch_action'] === true) continue;
      await fill(one, own);
    }
    const answer = await fill(place, value);
    setPending(undefined);
    setFailure(answer.acked === false ? NO_ANSWER : undefined);
  };
  const fill = ({ actionId, blockId }: PlacedElement, value: InputValue) =>
    sendRequest('input', { user, view: view.id, action_id: actionId, block_id: blockId, value });

  const submit = async (): Promise<void> => {
    setBusy(true);
    setFailure(undefined);
    const values = findInputs(view).flatMap((place): [string, InputValue][] => {
      const value = typed[getInputKey(place)];
      return value === undefined ? [] : [[place.blockId, value]];
    });
    const result = await sendRequest('submit', { user, view: view.id, values: Object.fromEntries(values) });
    setBusy(false);
    setErrors(result.outcome === 'errors' ? result.errors : {});
    if (result.outcome === 'failed') setFailure(NO_ANSWER);
  };
  const close = (): void => {
    sendRequest('close', { user, view: view.id }).catch(failed);
  };

  const surface: Surface = {
    id: `f${view.id}`,
    getValue: (place) => typed[getInputKey(place)] ?? readStateValue(view.state.values, place),
    setValue: (place, value) => {
      setTyped((all) => ({ ...all, [getInputKey(place)]: value }));
      const { [place.blockId]: _, ...rest } = errors;
      setErrors(rest);
      // A text input sends its event on Enter.
      const isText = textOf(place.element, 'type')?.endsWith('_input') === true;
      if (place.block['dispatch_action'] === true && !isText) dispatch(place, value).catch(failed);
    },
    handleEnter: (place) => {
      if (place.block['dispatch_action'] !== true) return;
      dispatch(place, typed[getInputKey(place)] ?? null).catch(failed);
    },
    sendAction: (place, chosen) => {
      setPending(getInputKey(place));
      act(chat, { view: view.id }, place, chosen).then(() => setPending(undefined), failed);
    },
    errors,
    pendingKey,
  };

  return (
    <Modal labelledBy={`${id}-title`} onCancel={close}>
      <form
        class="modal-frame"
        noValidate
        aria-busy={busy || pendingKey !== undefined}
        onSubmit={(event) => {
          event.preventDefault();
          submit().catch(failed);
        }}
      >
        <header>
          <h2 id={`${id}-title`}>{replaceShortcodes(view.title?.text ?? '')}</h2>
          <button type="button" class="icon-button" aria-label="Close" onClick={close}>
            <CloseIcon />
          </button>
        </header>
        <div class="modal-body" ref={body}>
          {chat.formHelp?.({
            view,
            isHighlighted: guided && !isTyped,
            fill: (values) => {
              const known = findInputs(view).flatMap((place): [string, InputValue][] => {
                const value = values[place.blockId];
                return value === undefined ? [] : [[getInputKey(place), value]];
              });
              setTyped((all) => ({ ...all, ...Object.fromEntries(known) }));
              setErrors({});
            },
          })}
          {failure !== undefined && (
            <p class="alert alert-error" role="alert">
              {failure}
            </p>
          )}
          <SurfaceProvider value={surface}>
            <Blocks blocks={view.blocks} />
          </SurfaceProvider>
        </div>
        <footer>
          <button type="button" class="button" onClick={close}>
            {replaceShortcodes(view.close?.text ?? 'Close')}
          </button>
          {view.submit && (
            <button
              type="submit"
              class={guided && isTyped ? 'button button-primary next' : 'button button-primary'}
              disabled={busy}
            >
              {replaceShortcodes(view.submit.text)}
            </button>
          )}
        </footer>
      </form>
    </Modal>
  );
}
