import { CloseIcon, type FormHelp, postJson, useChat } from '@domain-steward/slack-workspace/page';
import { useState } from 'preact/hooks';
import type { Hints } from '../host.ts';
import { hintsFor } from './form-hints.ts';
import type { Deed, GuidedPath, Progress } from './paths/path.ts';

interface GuideProps {
  paths: readonly GuidedPath[];
  path: GuidedPath;
  progress: Progress;
  /** Switches to another path. */
  choose(title: string): void;
  close(): void;
}

/** The guided paths: the next step of the current one, and the choice of another. */
export function Guide({ paths, path, progress, choose, close }: GuideProps) {
  const { users, channels, target } = useChat();
  const { steps, current } = progress;
  const person = target?.kind === 'person' ? users.get(target.user)?.real_name : undefined;
  const channel = target?.kind === 'channel' ? channels.get(target.channel)?.name : undefined;
  const following = paths[paths.indexOf(path) + 1];
  return (
    <section class="guide" aria-label="Guided path">
      <select
        aria-label="Choose a path"
        value={path.title}
        onChange={({ currentTarget }) => choose(currentTarget.value)}
      >
        {paths.map(({ title }) => (
          <option key={title} value={title} selected={title === path.title}>
            {title}
          </option>
        ))}
      </select>
      <ol>
        {steps.map(({ title, done }) => (
          <li
            key={title}
            data-done={done ? '' : undefined}
            aria-current={title === current?.title ? 'step' : undefined}
          >
            <span class="step-mark" aria-hidden="true">
              {done ? '✓' : ''}
            </span>
            {title}
            {done && <span class="for-screen-readers"> (done)</span>}
          </li>
        ))}
      </ol>
      <div class="guide-text">
        <p role="status">
          {person !== undefined && <strong>Switch to {person} at the top right. </strong>}
          {channel !== undefined && <strong>Go to #{channel}. </strong>}
          {(current ?? path).text}
        </p>
        {current?.deed && target === undefined && <DeedButton key={current.title} deed={current.deed} />}
        {current === undefined && following !== undefined && (
          <button type="button" class="link-button" onClick={() => choose(following.title)}>
            Next: {following.title.toLowerCase()}
          </button>
        )}
      </div>
      <button type="button" class="icon-button" aria-label="Close the guided path" onClick={close}>
        <CloseIcon />
      </button>
    </section>
  );
}

/** Runs a deed of the demo. */
function DeedButton({ deed: { route, text, busy } }: { deed: Deed }) {
  const { warn } = useChat();
  const [isBusy, setBusy] = useState(false);
  const act = (): void => {
    setBusy(true);
    postJson(route, {})
      .catch((error: unknown) => warn(String(error)))
      .finally(() => setBusy(false));
  };
  return (
    <button
      type="button"
      class={isBusy ? 'link-button' : 'link-button next'}
      aria-disabled={isBusy}
      onClick={isBusy ? undefined : act}
    >
      {isBusy ? busy : text}
    </button>
  );
}

/** Offers to fill a form with values of the sandbox. */
export function SandboxHints({ view, isHighlighted, fill, hints }: FormHelp & { hints: Hints | undefined }) {
  const { me } = useChat();
  const list = hints === undefined ? [] : hintsFor(view, hints, me.name);
  if (list.length === 0) return null;
  return (
    <p class="form-help">
      Sandbox: fill in{' '}
      {list.map(({ text, values }, index) => (
        <button
          key={text}
          type="button"
          class={isHighlighted && index === 0 ? 'link-button next' : 'link-button'}
          onClick={() => fill(values)}
        >
          {text}
        </button>
      ))}
    </p>
  );
}
