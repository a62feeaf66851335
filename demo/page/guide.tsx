import { CloseIcon, type FormHelp, postJson, useChat } from '@domain-steward/slack-workspace/page';
import { useState } from 'preact/hooks';
import { hintsFor } from './form-hints.ts';
import type { Path, StepName } from './guide-steps.ts';
import type { Hints } from './host.ts';
import type { LoseStepName } from './lose-steps.ts';

const TEXTS: Readonly<Record<StepName | LoseStepName, string>> = {
  link: 'Everybody works with their own account at the domain service. Type /domain link and fill in the sandbox account of Alice.',
  renew: 'Ask for two more years of cafe.rest. It costs money, so it will wait for somebody’s approval.',
  approve:
    'Bob may approve. He sees on the card what the click does. Watch the requests: exactly one goes out.',
  result: 'The service has answered. Open the thread and read what it said.',
  digest: 'Let a week go by: what expires soon is listed in its channel, each with a menu to renew it.',
  delete: 'Mail and a website live on cafe.rest. Ask to delete it all the same.',
  confirm: 'Read what would stop. The button asks for the name again; close the form, nothing has been sent.',
  theft:
    'Somebody else takes the name: its locks go, then it is transferred. Days go by, so it takes a while.',
  incident: 'No order explains what was seen. Open the thread of the incident and read what to do.',
};

interface GuideProps {
  path: Path<StepName | LoseStepName>;
  /** It is the second path, *Lose a domain*. */
  losing: boolean;
  /** Goes on to the second path. */
  lose(): void;
  close(): void;
}

/** The guided paths of a first visit. */
export function Guide({ path, losing, lose, close }: GuideProps) {
  const { users, channels, target } = useChat();
  const { steps, current } = path;
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
      <div class="guide-text">
        <p role="status">
          {person !== undefined && <strong>Be {person} now: choose so at the top. </strong>}
          {channel !== undefined && <strong>Go to #{channel}. </strong>}
          {current === undefined ? endOf(losing) : TEXTS[current]}
        </p>
        {current === 'theft' && <Steal />}
        {current === undefined && !losing && (
          <button type="button" class="link-button" onClick={lose}>
            Next: lose a domain
          </button>
        )}
      </div>
      <button type="button" class="icon-button" aria-label="Close the guided path" onClick={close}>
        <CloseIcon />
      </button>
    </section>
  );
}

function endOf(losing: boolean): string {
  return losing
    ? 'That is how a theft is heard of. Raise it tells the name’s owner, the approvers and the admins; It was us ends it.'
    : 'That is the whole path. Try a denial, a second window as Bob, or an outage; /domain help lists what there is.';
}

/** Lets the name of the second path be stolen. */
function Steal() {
  const { warn } = useChat();
  const [busy, setBusy] = useState(false);
  const steal = (): void => {
    setBusy(true);
    postJson('/local/theft', {})
      .catch((error: unknown) => warn(String(error)))
      .finally(() => setBusy(false));
  };
  return (
    <button
      type="button"
      class={busy ? 'link-button' : 'link-button next'}
      aria-disabled={busy}
      onClick={busy ? undefined : steal}
    >
      {busy ? 'cafe.rest is being stolen …' : 'Let cafe.rest be stolen'}
    </button>
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
