import type { AlarmKind } from '../../names/unexplained-changes.ts';

/*
 * What to do about a change of a name that no order explains. The page `docs/runbook.md` says the same in more detail.
 */

interface Runbook {
  /** What to ask the domain service, or to look up. */
  readonly ask: readonly string[];
  /** What the bot can do about it, while the name is at the team's registrar. */
  readonly order?: string;
  readonly dont: readonly string[];
  readonly call: string;
}

const CALL =
  'The name’s owner and the approvers: *Raise it* tells them. Then the support of the domain service, by telephone.';

const RUNBOOKS: Readonly<Record<AlarmKind, Runbook>> = {
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
    call: CALL,
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
    call: `${CALL} The other registrar’s abuse contact as well. Whoever uses its mail: resets of passwords go to the thief.`,
  },
  nameservers: {
    ask: ['Ask the service who changed the nameservers, and with which account.'],
    order: 'Put them back with `/domain nameservers` when nobody here did it.',
    dont: [
      'Do not log in to anything over a link that was mailed to this name since then.',
      'Do not lower the DNSSEC protection to make it resolve.',
    ],
    call: `${CALL} Whoever runs its mail and website: both can be read and changed by others now.`,
  },
  ds: {
    ask: [
      'Ask whoever runs the DNS whether keys were changed.',
      'Ask the service who changed the DS record, and with which account.',
    ],
    dont: [
      'Do not change nameservers until the DS fits: the name is unreachable for who validates otherwise.',
    ],
    call: CALL,
  },
  lock_gone: {
    ask: [
      'Ask the service who took the lock away, and with which account.',
      'Have it set again, and a new auth code made.',
    ],
    dont: ['Do not fetch the auth code to look at it: an unlocked name with a known code can be taken.'],
    call: CALL,
  },
  owner: {
    ask: [
      'Ask the service what changed in the owner’s record, and on whose word.',
      'Ask for it to be put back before the 60 days without transfers are used against you.',
    ],
    dont: ['Do not confirm a change of owner that a mail asks for.'],
    call: CALL,
  },
  pending_delete: {
    ask: ['Ask the service who deleted it, and until when it can be restored.'],
    order:
      'Restore it with `/domain restore` while there is time: that costs money, and later nothing helps.',
    dont: ['Do not register it anew: it is not free yet, and a restore keeps it.'],
    call: `${CALL} Whoever runs its mail and website: both stop.`,
  },
  unregistered: {
    ask: [
      'Ask the service whether the name was released, and since when.',
      'Look with `/domain name` whether somebody else has it.',
      'Register it again at once with `/domain create` if it is free.',
    ],
    dont: ['Do not announce that it is free.'],
    call: `${CALL} Whoever runs its mail: it can be read by who registers it.`,
  },
};

const ELSEWHERE =
  'It is at another registrar by now, so no order of ours changes it: the service has to get it back first.';

/**
 * What to do, as lines.
 * @param isElsewhere the name was seen at a registrar that is not the team's
 */
export function runbookLines(kind: AlarmKind, isElsewhere: boolean): string[] {
  const { ask, order, dont, call } = RUNBOOKS[kind];
  const steps = order === undefined ? ask : [...ask, isElsewhere ? ELSEWHERE : order];
  return [
    '*What to do*',
    ...steps.map((step) => `• ${step}`),
    '*What not to do*',
    ...dont.map((step) => `• ${step}`),
    '*Whom to call*',
    `• ${call}`,
  ];
}
