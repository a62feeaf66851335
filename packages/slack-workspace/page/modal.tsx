import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';

interface ModalProps {
  /** Id of the element that names the dialog. */
  labelledBy: string;
  children: ComponentChildren;
  /** Esc was pressed. The dialog stays until it is no longer drawn. */
  onCancel(): void;
}

/** A modal dialog. The browser keeps the focus inside and returns it afterwards. */
export function Modal({ labelledBy, children, onCancel }: ModalProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const { current } = dialog;
    const before = document.activeElement;
    current?.showModal();
    return () => {
      current?.close();
      // The element that had the focus may have been rendered again; then the composer gets the focus.
      const back = before instanceof HTMLElement && before.isConnected && before !== document.body;
      const goal = back ? before : document.querySelector<HTMLElement>('.composer textarea');
      goal?.focus();
    };
  }, []);
  return (
    <dialog
      ref={dialog}
      class="modal"
      aria-labelledby={labelledBy}
      onCancel={(event) => {
        event.preventDefault();
        onCancel();
      }}
    >
      {children}
    </dialog>
  );
}
