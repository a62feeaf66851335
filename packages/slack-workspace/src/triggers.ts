import { randomBytes } from 'node:crypto';
import { SlackError } from './errors.ts';
import { LIMITS } from './limits.ts';

/** An action by a person that lets the app open a dialog. */
export interface Trigger {
  userId: string;
  /** The dialog in which the action happened. `views.push` needs one. */
  viewId?: string;
}

/** Issues trigger ids. Each can be used once, within 3 seconds by the workspace's clock. */
export class Triggers {
  readonly #now: () => number;
  readonly #issued = new Map<string, Trigger & { issuedAt: number; wasUsed: boolean }>();

  constructor(now: () => number) {
    this.#now = now;
  }

  issue(trigger: Trigger): string {
    const now = this.#now();
    const id = `${Math.floor(now / 1_000)}.${this.#issued.size + 1}.${randomBytes(16).toString('hex')}`;
    this.#issued.set(id, { ...trigger, issuedAt: now, wasUsed: false });
    return id;
  }

  /** @throws SlackError `invalid_trigger_id`, `exchanged_trigger_id` or `expired_trigger_id`. */
  exchange(id: string): Trigger {
    const trigger = this.#issued.get(id);
    if (!trigger) throw new SlackError('invalid_trigger_id');
    if (trigger.wasUsed) throw new SlackError('exchanged_trigger_id');
    if (this.#now() - trigger.issuedAt > LIMITS.trigger.validMs) throw new SlackError('expired_trigger_id');
    trigger.wasUsed = true;
    return trigger;
  }
}
