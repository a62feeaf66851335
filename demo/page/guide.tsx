import { CloseIcon, type FormHelp, postJson, useChat } from '@domain-steward/slack-workspace/page';
import { useState } from 'preact/hooks';
import { hintsFor } from './form-hints.ts';
import type { Progress, StepName } from './guide-steps.ts';
import type { Hints } from './host.ts';

const TEXTS: Readonly<Record<StepName, string>> = {
  link: 'Everybody works with their own account at the domain service. Type /domain link and fill in the sandbox account of Alice.',
  renew: 'Ask for two more years of cafe.rest. It costs money, so it will wait for somebody’s approval.',
  approve:
    'Bob may approve. He sees on the card what the click does. Watch the requests: exactly one goes out.',
  result: 'The service has answered. Open the thread and read what it said.',
  digest: 'Let a week go by: what expires soon is listed in its channel, with a button to renew it.',
};

interface GuideProps {
  progress: Progress;
  close(): void;
}

/** The guided path of a first visit. */
export function Guide({ progress, close }: GuideProps) {
  const { users, channels, target } = useChat();
  const { steps, current } = progress;
  const person = target?.kind === 'person' ? users.get(target.user)?.real_name : undefined;
  const channel = target?.kind === 'channel' ? channels.get(target.channel)?.name : undefined;
  return (
    <section class="guide" aria-label="Guided path">
      <ol>
        {steps.map(({ name, title, done }) => (
          <li
            key={name}
            data-done={done ? '' : undefined}
            aria-current={name === current ? 'step' : undefined}
          >
            <span class="step-mark" aria-hidden="true">
              {done ? '✓' : ''}
            </span>
            {title}
            {done && <span class="for-screen-readers"> (done)</span>}
          </li>
        ))}
      </ol>
      <p role="status">
        {person !== undefined && <strong>Be {person} now: choose so at the top. </strong>}
        {channel !== undefined && <strong>Go to #{channel}. </strong>}
        {current === undefined
          ? 'That is the whole path. Try a denial, a second window as Bob, or an outage; /domain help lists what there is.'
          : TEXTS[current]}
      </p>
      {current === undefined && <LoseADomain />}
      <button type="button" class="icon-button" aria-label="Close the guided path" onClick={close}>
        <CloseIcon />
      </button>
    </section>
  );
}

/** The second path: deleting a name that is in use shows a warning, and a theft is reported. */
function LoseADomain() {
  const { warn } = useChat();
  const [busy, setBusy] = useState(false);
  const steal = (): void => {
    setBusy(true);
    postJson('/local/theft', {})
      .catch((error: unknown) => warn(String(error)))
      .finally(() => setBusy(false));
  };
  return (
    <p>
      <strong>Lose a domain.</strong> Type /domain delete cafe.rest, on which mail and a website live, and see
      what stops you. Then{' '}
      <button type="button" class="link-button" disabled={busy} onClick={steal}>
        {busy ? 'it is being stolen …' : 'let it be stolen'}
      </button>{' '}
      and hear of it in #domain-expiry, with what to do in each thread.
    </p>
  );
}

/** Offers to fill a form with values of the sandbox. */
export function SandboxHints({ view, next, fill, hints }: FormHelp & { hints: Hints | undefined }) {
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
          class={next && index === 0 ? 'link-button next' : 'link-button'}
          onClick={() => fill(values)}
        >
          {text}
        </button>
      ))}
    </p>
  );
}
