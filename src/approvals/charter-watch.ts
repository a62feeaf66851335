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
 * @returns checks whether a charter counts, and notifies people when that changes. Each process does so once, also
 * after a restart: a logged event about it could be forged
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
