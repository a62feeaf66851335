import type { IncidentKind } from '../../names/unexplained-changes.ts';
import type { Capability } from '../capability.ts';
import { escapeLine } from '../kit/blocks.ts';

/* Says what to do about an unexpected change to a name. `docs/runbook.md` has more details. */

interface Runbook {
  /** Questions for the domain service, and other steps. */
  readonly steps: readonly string[];
  /** An order that helps while the name is at the team's registrar. */
  readonly orderStep?: string;
  readonly warnings: readonly string[];
  /** Other people to call. */
  readonly contacts?: string;
}

const RUNBOOKS: Readonly<Record<IncidentKind, Runbook>> = {
  pending_transfer: {
    steps: [
      'Ask the service to *reject the transfer* now, in writing, with the name and this time.',
      'Ask who requested the auth code, and when. Have it replaced.',
      'Ask for a transfer lock.',
    ],
    warnings: [
      'Don’t approve anything in emails about this transfer.',
      'Don’t wait for the last day: it completes automatically.',
    ],
  },
  registrar: {
    steps: [
      'Ask the service whether it released the name, to whom, and who requested it.',
      'Ask for a *transfer dispute* at the registry, and for an emergency return from the other registrar.',
      'Change the account’s passwords and auth codes.',
    ],
    warnings: [
      'Don’t renew it: you’d pay for a name someone else holds.',
      'Don’t negotiate with the new holder before the service has answered.',
    ],
    contacts:
      'The other registrar’s abuse contact. Anyone who uses email at this domain: password resets now go to the thief.',
  },
  nameservers: {
    steps: ['Ask the service who changed the nameservers, and with which account.'],
    orderStep: 'If no one here did it, restore them with `/domain nameservers`.',
    warnings: [
      'Don’t use login links emailed to this name since then.',
      'Don’t turn off DNSSEC to make it resolve.',
    ],
    contacts: 'The people who run its mail and website, because others can now read and change both.',
  },
  ds: {
    steps: [
      'Ask the people who run its DNS whether keys changed.',
      'Ask the service who changed the DS record, and with which account.',
    ],
    warnings: [
      'Don’t change nameservers until the DS record matches the zone’s keys: until then, validating resolvers can’t reach the name.',
    ],
  },
  lock: {
    steps: [
      'Ask the service who removed the lock, and with which account.',
      'Have the lock set again, and the auth code replaced.',
    ],
    warnings: [
      'Don’t have the auth code sent to you unless you need it: with it, an unlocked name can be transferred away.',
    ],
  },
  owner: {
    steps: [
      'Ask the service what changed in the registrant’s record, and who requested it.',
      'Ask for it to be reverted before the 60-day transfer lock works against you.',
    ],
    warnings: ['Don’t confirm an owner change by email.'],
  },
  pending_delete: {
    steps: ['Ask the service who deleted it, and how long it can be restored.'],
    orderStep:
      'Restore it with `/domain restore` before the deadline. There’s a fee, and after that day the name is lost.',
    warnings: ['Don’t register it again: it isn’t available yet, and a restore brings it back.'],
    contacts: 'The people who run its mail and website, because both stop working.',
  },
  hold: {
    steps: [
      'Look for an unanswered verification email to the registrant: registrars suspend a name after 15 days without an answer.',
      'Ask the service who set the hold, the registry (server hold) or the registrar (client hold), and why, such as an unpaid bill or a complaint. Ask how to lift it.',
    ],
    warnings: ['Don’t change nameservers: during a hold they aren’t used.'],
    contacts: 'The people who run its mail and website, because both stop working.',
  },
  delegation_gone: {
    steps: ['Ask the service why the name is no longer in its zone, and who did it.'],
    orderStep: 'If the service says it has no nameservers, set them with `/domain nameservers`.',
    warnings: ['Don’t look for the fault in your nameservers: nothing points to them.'],
    contacts: 'The people who run its mail and website, because both stop working.',
  },
  nameserver_registrable: {
    steps: ['Register that server’s domain yourself if it’s available: its holder controls your name.'],
    orderStep: 'Remove that server with `/domain nameservers`.',
    warnings: ['Don’t wait: anyone can register that domain.'],
  },
  all_lame: {
    steps: [
      'Ask the nameservers’ operator to set up the zone again: at many providers anyone can set it up in their own account.',
    ],
    orderStep: 'Or set nameservers that answer for the name with `/domain nameservers`.',
    warnings: ['Don’t ignore it because the name is unused: others could get mail and certificates for it.'],
  },
  unregistered: {
    steps: [
      'Ask the service whether the name was released, and when.',
      'Check with `/domain name` whether someone else has it.',
      'If it’s available, register it now with `/domain create`.',
    ],
    warnings: ['Don’t announce that it’s available.'],
    contacts: 'The people who use its mail: anyone who registers it can read it.',
  },
};

export interface RegistrarInfo extends Capability {
  readonly isAtOtherRegistrar: boolean;
  /** The team's registrar; undefined if unknown. */
  readonly registrar: string | undefined;
}

const AT_OTHER_REGISTRAR =
  'It’s already at another registrar, so you can’t change it with an order. The service has to get it back first.';
const KINDS_MOST_URGENT_FIRST: readonly IncidentKind[] = [
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
const SUPERSEDED_KINDS: Readonly<Partial<Record<IncidentKind, readonly IncidentKind[]>>> = {
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

export function runbookLines(
  kinds: readonly IncidentKind[],
  { isAtOtherRegistrar, registrar, hasService }: RegistrarInfo,
): string[] {
  const supersededKinds = new Set(kinds.flatMap((kind) => SUPERSEDED_KINDS[kind] ?? []));
  const runbooks = KINDS_MOST_URGENT_FIRST.filter(
    (kind) => kinds.includes(kind) && !supersededKinds.has(kind),
  ).map((kind) => RUNBOOKS[kind]);
  const orderSteps = hasService ? runbooks.flatMap(({ orderStep }) => orderStep ?? []) : [];
  const serviceName = hasService ? 'the domain service' : 'the registrar';
  const supportText =
    registrar === undefined
      ? `${serviceName}’s support.`
      : `${serviceName}’s support${hasService ? ', or the registrar' : ''} (${escapeLine(registrar)}).`;
  const formatStep = (step: string) =>
    `• ${hasService ? step : step.replaceAll('the service', 'the registrar')}`;
  const steps = [
    ...runbooks.flatMap((runbook) => runbook.steps),
    ...(orderSteps.length === 0 ? [] : isAtOtherRegistrar ? [AT_OTHER_REGISTRAR] : orderSteps),
  ];
  return [
    '*What to do*',
    `• Call ${supportText} *Raise the alarm* notifies the owner, the approvers and the admins.`,
    ...steps.map(formatStep),
    '*What not to do*',
    ...[...new Set(runbooks.flatMap(({ warnings }) => warnings))].map(formatStep),
    ...(runbooks.some(({ contacts }) => contacts !== undefined)
      ? [
          '*Who else to call*',
          ...new Set(runbooks.flatMap(({ contacts }) => (contacts === undefined ? [] : `• ${contacts}`))),
        ]
      : []),
  ];
}
