import {
  ClockIcon,
  formatClockTime,
  getZonePlace,
  postJson,
  useChat,
} from '@domain-steward/slack-workspace/page';
import { useEffect, useState } from 'preact/hooks';
import type { ClockState } from '../host.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const STEPS = [
  { text: '+1 h', ms: HOUR_MS },
  { text: '+1 day', ms: DAY_MS },
  { text: '+7 days', ms: 7 * DAY_MS },
  { text: '+30 days', ms: 30 * DAY_MS },
] as const;

/** `+7 days`, `+1 day 2 hours`; empty if the clock isn't shifted. */
function formatShift(aheadMs: number): string {
  const hours = Math.round(aheadMs / HOUR_MS);
  if (hours === 0) return '';
  const parts = [
    [Math.floor(hours / 24), 'day'],
    [hours % 24, 'hour'],
  ] as const;
  const words = parts
    .filter(([amount]) => amount > 0)
    .map(([n, unit]) => `${n} ${unit}${n === 1 ? '' : 's'}`);
  return `+${words.join(' ')}`;
}

interface TimeControlProps {
  clock: ClockState;
  moved(clock: ClockState): void;
  /** The guide asks to move the clock by a week. */
  next: boolean;
}

/** Shows the clock of the bot and the sandbox, and moves it. */
export function TimeControl({ clock, moved, next }: TimeControlProps) {
  const { me, warn } = useChat();
  const [real, setReal] = useState(Date.now());
  const [busy, setBusy] = useState(false);
  useEffect(() => {
    const ticking = setInterval(() => setReal(Date.now()), 10_000);
    return () => clearInterval(ticking);
  }, []);
  const now = real + clock.aheadMs;
  const day = new Intl.DateTimeFormat('en-US', {
    month: 'short',
    day: 'numeric',
    ...(new Date(now).getFullYear() !== new Date(real).getFullYear() && { year: 'numeric' }),
    timeZone: me.tz,
  }).format(now);
  const shift = formatShift(clock.aheadMs);
  const move = (by: { addMs: number } | { reset: true }): void => {
    setBusy(true);
    postJson<ClockState>('/local/time', by)
      .then(moved)
      .catch((error: unknown) => warn(String(error)))
      .finally(() => setBusy(false));
  };
  return (
    <fieldset class="time" aria-label="Clock of the demonstration" aria-busy={busy}>
      <span class="time-now" role="status">
        <ClockIcon />
        {day}, {formatClockTime(now, me.tz)}
        <span class="time-place" title="Everybody reads times in their own time zone, as in Slack.">
          {getZonePlace(me.tz)}
        </span>
        {shift !== '' && <b> ({shift})</b>}
      </span>
      {STEPS.map(({ text, ms }) => (
        <button
          key={text}
          type="button"
          class={next && ms === 7 * DAY_MS ? 'time-step next' : 'time-step'}
          disabled={busy}
          onClick={() => move({ addMs: ms })}
        >
          {text}
        </button>
      ))}
      {shift !== '' && (
        <button type="button" class="time-step" disabled={busy} onClick={() => move({ reset: true })}>
          Back to now
        </button>
      )}
    </fieldset>
  );
}
