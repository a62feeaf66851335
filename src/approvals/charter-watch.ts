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
 * Returns a function that checks the charter and notifies people if its validity has changed. The first check in each
 * process counts as a change, because the stored status could be forged.
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
