import type { AddedKey, InvalidReason } from '../../../approvals/signing/key-ring.ts';
import {
  actions,
  button,
  code,
  escapeText,
  formatLocalTime,
  joinWords,
  lineSections,
  type Message,
  mention,
  message,
  section,
} from '../../kit/blocks.ts';
import { buildPageControls, slicePage } from '../../kit/pages.ts';

export interface KeyEntry extends AddedKey {
  readonly validity: 'yes' | InvalidReason;
  readonly vouchedBy: readonly string[];
  readonly canVouch: boolean;
  readonly canRevoke: boolean;
}

export interface KeyList {
  readonly keys: readonly KeyEntry[];
  /** Number of keys before the page. */
  readonly offset: number;
  readonly hasRoots: boolean;
  readonly canSignCharter: boolean;
  /** Why no signed policy is in force; undefined if one is. */
  readonly policyNotice: string | undefined;
}

const INVALID_REASONS: Readonly<Record<InvalidReason, string>> = {
  not_vouched: 'not valid yet: no one with a valid passkey has vouched for it',
  revoked: 'revoked',
  left: 'not valid: its owner left the workspace',
  host_mismatch: 'not valid: it belongs to an address other than PUBLIC_URL. Add a new one',
  ambiguous: 'not valid: it was added twice',
  events_missing: 'not valid: passkey events are missing from the log',
};

const KEYS_PER_PAGE = 20;

function statusText({ validity, vouchedBy }: KeyEntry): string {
  if (validity !== 'yes') return INVALID_REASONS[validity];
  return vouchedBy.length === 0
    ? '*valid* (root passkey)'
    : `*valid*, vouched for by ${joinWords(vouchedBy.map(mention))}`;
}

function keyText(key: KeyEntry): string {
  const label = key.label === '' ? '' : ` “${escapeText(key.label)}”`;
  return `${mention(key.owner)}${label}, ${statusText(key)}\n${code(key.fingerprint)}, added ${formatLocalTime(key.addedAt)}`;
}

export function keysMessage({ keys, offset, hasRoots, canSignCharter, policyNotice }: KeyList): Message {
  const lead =
    keys.length === 0
      ? 'No passkeys yet.'
      : `Passkeys${hasRoots ? '' : ' (none is valid, because the operator hasn’t set SIGNING_ROOTS)'}`;
  // Keys that the reader can vouch for come first, then keys that the reader can revoke.
  const getRank = ({ canVouch, canRevoke }: KeyEntry) => (canVouch ? 0 : canRevoke ? 1 : 2);
  const sortedKeys = keys.toSorted((a, b) => getRank(a) - getRank(b));
  const page = slicePage(sortedKeys, offset, KEYS_PER_PAGE);
  const keysWithButtons = page.items.filter((key) => getRank(key) < 2);
  return message(lead, [
    section(`*${lead}*`),
    ...keysWithButtons.flatMap((key, index) => [
      section(keyText(key)),
      ...actions(`key_${index}`, [
        key.canVouch && button('key_vouch', 'Vouch for it', key.fingerprint),
        key.canRevoke && button('key_revoke', 'Revoke it', key.fingerprint, { style: 'danger' }),
      ]),
    ]),
    ...lineSections(page.items.slice(keysWithButtons.length).map(keyText)),
    ...buildPageControls('keys', page, KEYS_PER_PAGE),
    policyNotice !== undefined && section(policyNotice),
    ...actions('keys', [
      button('key_add', 'Add a passkey', 'add', { style: 'primary' }),
      canSignCharter && button('charter_sign', 'Sign policy and settings', 'charter'),
    ]),
  ]);
}
