import { inputsOf, stateValue } from '@domain-steward/slack-workspace/page/forms';
import type { View } from '@domain-steward/slack-workspace/protocol';
import type { HintAccount, Hints } from '../host.ts';

/* Values of the sandbox for the inputs of a form, so that nobody has to copy invented credentials. */

export interface FormHint {
  text: string;
  /** By the block id of the input. */
  values: Readonly<Record<string, string>>;
}

type Method = 'password' | 'trusted_application' | 'two_factor';

function methodOf({ uuid, totpSecret }: HintAccount): Method {
  if (uuid !== undefined) return 'trusted_application';
  return totpSecret === undefined ? 'password' : 'two_factor';
}

/**
 * The values that can be filled in, the person's own first.
 * @param person the person's name in the sandbox's accounts
 */
export function hintsFor(view: View, hints: Hints, person: string): FormHint[] {
  switch (view.callback_id) {
    case 'link':
      return accountHints(view, hints, person);
    case 'transfer':
      return [
        {
          text: `${hints.transfer.name} with its auth code`,
          values: { name: hints.transfer.name, auth: hints.transfer.authCode, ...delegation(hints) },
        },
      ];
    case 'create':
      return [{ text: 'contacts and nameservers of the sandbox', values: delegation(hints) }];
    default:
      return [];
  }
}

function accountHints(view: View, { accounts }: Hints, person: string): FormHint[] {
  const chosen = inputsOf(view).find(({ blockId }) => blockId === 'method');
  const method = chosen === undefined ? 'password' : stateValue(view.state.values, chosen);
  return Object.values(accounts)
    .filter((account) => methodOf(account) === method)
    .sort((a, b) => Number(b.user === person) - Number(a.user === person))
    .map((account) => ({
      text: [account.user ?? account.application, account.context && `context ${account.context}`]
        .filter(Boolean)
        .join(', '),
      values: Object.fromEntries(Object.entries(account).map(([name, value]) => [name, String(value)])),
    }));
}

function delegation({ contacts, nameServers }: Hints): Record<string, string> {
  const [contact] = contacts;
  const id = contact === undefined ? {} : { ownerc: contact, adminc: contact, techc: contact };
  return {
    ...Object.fromEntries(Object.entries(id).map(([name, value]) => [name, String(value)])),
    nameServers: nameServers.join('\n'),
  };
}
