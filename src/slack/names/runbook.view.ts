import type { IncidentKind } from '../../names/unexplained-changes.ts';
import { quote } from '../kit/blocks.ts';

/*
 * What to do about a change of a name that no order explains. The page `docs/runbook.md` says the same in more detail.
 */

interface Runbook {
  /** What to ask the domain service, or to look up. */
  readonly ask: readonly string[];
  /** What the bot can do about it, while the name is at the team's registrar. */
  readonly order?: string;
  readonly dont: readonly string[];
  /** Whom else it concerns. */
  readonly call?: string;
}

const RUNBOOKS: Readonly<Record<IncidentKind, Runbook>> = {
  pending_transfer: {
    ask: [
      'Ask the service to *reject the transfer* at once, in writing, with the name and this time.',
      'Ask who fetched the auth code, and when; have a new one set.',
      'Ask for the lock against transfers.',
    ],
    dont: [
      'Do not approve anything that a mail about this transfer asks for.',
      'Do not wait for the last day: it goes through by itself.',
    ],
  },
  registrar: {
    ask: [
      'Ask the service whether it released the name, to whom, and on whose word.',
      'Ask it to open a *transfer dispute* with the registry, and to ask the other registrar for an emergency return.',
      'Have the passwords and the auth codes of the account changed.',
    ],
    dont: [
      'Do not renew it: that pays for a name that somebody else holds.',
      'Do not negotiate with who holds it now before the service has answered.',
    ],
    call: 'The other registrar’s abuse contact as well. Whoever uses its mail: resets of passwords go to the thief.',
  },
  nameservers: {
    ask: ['Ask the service who changed the nameservers, and with which account.'],
    order: 'Put them back with `/domain nameservers` when nobody here did it.',
    dont: [
      'Do not log in to anything over a link that was mailed to this name since then.',
      'Do not lower the DNSSEC protection to make it resolve.',
    ],
    call: 'Whoever runs its mail and website: both can be read and changed by others now.',
  },
  ds: {
    ask: [
      'Ask whoever runs the DNS whether keys were changed.',
      'Ask the service who changed the DS record, and with which account.',
    ],
    dont: [
      'Do not change nameservers until the DS fits: the name is unreachable for who validates otherwise.',
    ],
  },
  lock: {
    ask: [
      'Ask the service who took the lock away, and with which account.',
      'Have it set again, and a new auth code made.',
    ],
    dont: ['Do not fetch the auth code to look at it: an unlocked name with a known code can be taken.'],
  },
  owner: {
    ask: [
      'Ask the service what changed in the owner’s record, and on whose word.',
      'Ask for it to be put back before the 60 days without transfers are used against you.',
    ],
    dont: ['Do not confirm a change of owner that a mail asks for.'],
  },
  pending_delete: {
    ask: ['Ask the service who deleted it, and until when it can be restored.'],
    order:
      'Restore it with `/domain restore` while there is time: that costs money, and later nothing helps.',
    dont: ['Do not register it anew: it is not free yet, and a restore keeps it.'],
    call: 'Whoever runs its mail and website: both stop.',
  },
  hold: {
    ask: [
      'Ask the service who set the hold and why: the registry (server hold) or the registrar (client hold).',
      'Ask what lifts it: an unpaid bill, an owner’s address that nobody has confirmed, a complaint.',
    ],
    dont: ['Do not change nameservers: while the hold stands, none of them is asked.'],
    call: 'Whoever runs its mail and website: both stop.',
  },
  delegation_gone: {
    ask: ['Ask the service why the name is not in its zone any more, and who did it.'],
    order: 'Set its nameservers again with `/domain nameservers` when the service says that there are none.',
    dont: ['Do not look for the fault at your nameservers: nobody is led to them.'],
    call: 'Whoever runs its mail and website: both stop.',
  },
  nameserver_registrable: {
    ask: ['Register the domain of that server yourselves, if it is free: who has it answers for your name.'],
    order: 'Take that server out of the delegation with `/domain nameservers`.',
    dont: ['Do not wait for somebody to notice: the domain is free for everybody.'],
  },
  all_lame: {
    ask: [
      'Ask whoever runs those nameservers to set up the zone again: at many providers anybody may set it up in their own account.',
    ],
    order: 'Or set nameservers that know the name with `/domain nameservers`.',
    dont: ['Do not leave it because nothing lives on it: mail and certificates can be had for it.'],
  },
  unregistered: {
    ask: [
      'Ask the service whether the name was released, and since when.',
      'Look with `/domain name` whether somebody else has it.',
      'Register it again at once with `/domain create` if it is free.',
    ],
    dont: ['Do not announce that it is free.'],
    call: 'Whoever runs its mail: it can be read by who registers it.',
  },
};

/** What is known of the name by which it is said what still works. */
export interface RunbookName {
  /** It was seen at a registrar that is not the team's. */
  readonly isElsewhere: boolean;
  /** What the team's registrar is called; undefined while nobody knows. */
  readonly registrar: string | undefined;
}

const ELSEWHERE =
  'It is at another registrar by now, so no order of ours changes it: the service has to get it back first.';
/** In the sequence in which it helps: what can still be stopped, then what can be put back, then what can only be asked for. */
const SEQUENCE: readonly IncidentKind[] = [
  'pending_transfer',
  'registrar',
  'unregistered',
  'pending_delete',
  'hold',
  'delegation_gone',
  'nameserver_registrable',
  'all_lame',
  'nameservers',
  'ds',
  'lock',
  'owner',
];
/** What is over once something else has happened. */
const OVERTAKEN: Readonly<Partial<Record<IncidentKind, readonly IncidentKind[]>>> = {
  registrar: ['pending_transfer', 'lock'],
  unregistered: [
    'pending_transfer',
    'lock',
    'hold',
    'pending_delete',
    'delegation_gone',
    'ds',
    'nameservers',
  ],
  pending_delete: ['hold', 'delegation_gone', 'ds'],
  hold: ['delegation_gone'],
};

/** What to do, as lines, in the sequence in which it helps. What cannot work any more is left out. */
export function runbookLines(
  kinds: readonly IncidentKind[],
  { isElsewhere, registrar }: RunbookName,
): string[] {
  const overtaken = new Set(kinds.flatMap((kind) => OVERTAKEN[kind] ?? []));
  const runbooks = SEQUENCE.filter((kind) => kinds.includes(kind) && !overtaken.has(kind)).map(
    (kind) => RUNBOOKS[kind],
  );
  const orders = runbooks.flatMap(({ order }) => order ?? []);
  const support =
    registrar === undefined
      ? 'the support of the domain service'
      : `the support of the domain service, or ${quote(registrar)}`;
  const steps = [
    ...runbooks.flatMap(({ ask }) => ask),
    ...(orders.length === 0 ? [] : isElsewhere ? [ELSEWHERE] : orders),
  ];
  return [
    '*What to do*',
    `• Call ${support}, by telephone. *Raise it* tells the owner, the approvers and the admins.`,
    ...steps.map((step) => `• ${step}`),
    '*What not to do*',
    ...[...new Set(runbooks.flatMap(({ dont }) => dont))].map((step) => `• ${step}`),
    ...(runbooks.some(({ call }) => call !== undefined)
      ? [
          '*Whom to call besides*',
          ...new Set(runbooks.flatMap(({ call }) => (call === undefined ? [] : `• ${call}`))),
        ]
      : []),
  ];
}
