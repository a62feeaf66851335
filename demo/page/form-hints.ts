import { findInputs, readStateValue } from '@domain-steward/slack-workspace/page/forms';
import type { View } from '@domain-steward/slack-workspace/protocol';
import type { HintAccount, Hints } from '../host.ts';

/* Sandbox values to fill in forms, so that nobody has to copy invented credentials. */

export interface FormHint {
  text: string;
  /** By the block id of the input. */
  values: Readonly<Record<string, string>>;
}

type Method = 'password' | 'trusted_application' | 'two_factor';

function findMethod({ uuid, totpSecret }: HintAccount): Method {
  if (uuid !== undefined) return 'trusted_application';
  return totpSecret === undefined ? 'password' : 'two_factor';
}

/** @param person the person's name in the sandbox's accounts; their own accounts come first */
export function hintsFor(view: View, hints: Hints, person: string): FormHint[] {
  switch (view.callback_id) {
    case 'link':
      return buildAccountHints(view, hints, person);
    case 'transfer':
      return [
        {
          text: `${hints.transfer.name} with its auth code`,
          values: {
            name: hints.transfer.name,
            auth: hints.transfer.authCode,
            ...buildDelegationValues(hints),
          },
        },
      ];
    case 'create':
      return [{ text: 'contacts and nameservers of the sandbox', values: buildDelegationValues(hints) }];
    default:
      return [];
  }
}

function buildAccountHints(view: View, { accounts }: Hints, person: string): FormHint[] {
  const methodInput = findInputs(view).find(({ blockId }) => blockId === 'method');
  const method = methodInput === undefined ? 'password' : readStateValue(view.state.values, methodInput);
  return Object.values(accounts)
    .filter((account) => findMethod(account) === method)
    .sort((a, b) => Number(b.user === person) - Number(a.user === person))
    .map((account) => ({
      text: [account.user ?? account.application, account.context && `context ${account.context}`]
        .filter(Boolean)
        .join(', '),
      values: Object.fromEntries(Object.entries(account).map(([name, value]) => [name, String(value)])),
    }));
}

function buildDelegationValues({ contacts, nameServers }: Hints): Record<string, string> {
  const [contact] = contacts;
  const contactIds = contact === undefined ? {} : { ownerc: contact, adminc: contact, techc: contact };
  return {
    ...Object.fromEntries(Object.entries(contactIds).map(([name, value]) => [name, String(value)])),
    nameServers: nameServers.join('\n'),
  };
}
