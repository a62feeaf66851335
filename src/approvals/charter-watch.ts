import type { Log } from '../lib/log.ts';
import type { OrderSigning } from '../orders/ports.ts';
import type { KeyStore } from './signing/ports.ts';

export interface CharterWatchDeps {
  readonly signing: Pick<OrderSigning, 'loadCharterStatus'>;
  readonly keys: Pick<KeyStore, 'noteStatus'>;
  readonly noted: () => void;
  readonly now: () => Date;
  readonly log: Log;
}

/**
 * @returns a function that checks whether a charter is valid, and notifies people when that changes. Each process
 * notifies once, also after a restart: a stored event about it could be forged
 */
export function createCharterWatch({ signing, keys, noted, now, log }: CharterWatchDeps) {
  let seen: string | undefined;
  return async () => {
    const charter = await signing.loadCharterStatus();
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
