import type { Log } from '../lib/log.ts';
import type { OrderSigning } from '../orders/ports.ts';
import type { KeyStore } from './signing/ports.ts';

export interface CharterWatchDeps {
  readonly signing: Pick<OrderSigning, 'loadCharterStatus'>;
  readonly keys: Pick<KeyStore, 'recordStatus'>;
  readonly onChange: () => void;
  readonly now: () => Date;
  readonly log: Log;
}

/**
 * @returns a function that checks whether a charter is valid, and notifies people when that changes. Each process
 * notifies once, even after a restart, because a stored event about it could be forged
 */
export function createCharterWatch({ signing, keys, onChange, now, log }: CharterWatchDeps) {
  let lastStatus: string | undefined;
  return async () => {
    const charter = await signing.loadCharterStatus();
    if (charter === undefined) return;
    const status = charter.kind === 'invalid' ? charter.problem : 'valid';
    if (status === lastStatus) return;
    if (await keys.recordStatus(status, now())) {
      log.warn({ status }, 'the signed policy’s validity changed');
      onChange();
    }
    lastStatus = status;
  };
}
