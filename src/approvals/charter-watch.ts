import type { Log } from '../lib/log.ts';
import type { OrderSigning } from '../orders/ports.ts';
import type { KeyStore } from './signing/ports.ts';

export interface CharterWatchDeps {
  readonly signing: Pick<OrderSigning, 'charter'>;
  readonly keys: Pick<KeyStore, 'noteStatus'>;
  readonly noted: () => void;
  readonly now: () => Date;
  readonly log: Log;
}

/**
 * @returns looks whether a charter counts, and has people told when that changes. Each process tells of it once, also after a
 * restart: an event in the log that says that they were told could be forged
 */
export function createCharterWatch({ signing, keys, noted, now, log }: CharterWatchDeps) {
  let seen: string | undefined;
  return async () => {
    const charter = await signing.charter();
    if (charter === undefined) return;
    const status = charter.kind === 'lapsed' ? charter.problem : 'counts';
    if (status === seen) return;
    if (await keys.noteStatus(status, now())) {
      log.warn({ status }, 'the signed policy’s validity changed');
      noted();
    }
    seen = status;
  };
}
