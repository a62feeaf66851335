import type {
  DelegationFault,
  DelegationFaultCode,
  DelegationHealth,
} from '../../names/delegation-health.ts';
import type { FaultyName, UnrecordedNames } from '../../names/ports.ts';
import { displayName } from '../../zones/names.ts';
import { code, count, escapeText, lines, type Message, message, moment } from '../kit/blocks.ts';
import { formatList } from './facts.view.ts';

/* Texts about delegations. */

/** Completes “its delegation: …”, before the hosts or domains. */
const FAULTS: Readonly<Record<DelegationFaultCode, string>> = {
  registrable: ':x: a nameserver’s domain can be registered by anyone',
  all_lame: ':x: no nameserver answers for it',
  unfit_ds: ':x: DNSSEC is broken: no key matches the DS',
  lame: ':warning: a nameserver doesn’t answer for it',
  no_address: ':warning: a nameserver has no address',
  ending: ':warning: a nameserver’s domain expires within 30 days',
  silent: ':grey_question: no response from a nameserver',
};
const NAMES_SHOWN = 20;

/** Empty if healthy. Unseen data is never called healthy. */
export function healthLines({ faults, isSeenWhole, seenAt }: DelegationHealth): string[] {
  const found = faults.map(
    ({ code: fault, about }: DelegationFault) => `${FAULTS[fault]}: ${formatList(about)}`,
  );
  if (isSeenWhole) return found;
  const since = seenAt === undefined ? '' : `, last complete check ${moment(seenAt)}`;
  return [...found, `:grey_question: Its delegation couldn’t be checked completely${since}`];
}

export function newFaultsMessage(
  names: readonly FaultyName[],
  registries: readonly UnrecordedNames[],
): Message {
  const title = `${count(names.length, 'name')} with a new delegation problem`;
  const faults = names
    .slice(0, NAMES_SHOWN)
    .map(
      ({ name, faults: [worst] }) =>
        `${escapeText(displayName(name))} · ${worst === undefined ? '' : FAULTS[worst]}`,
    );
  const notes = registries.map(unrecordedText);
  return message(
    names.length > 0 ? title : notes.join(' '),
    lines([
      ...(names.length > 0 ? [`*${title}*`, ...faults, `All: ${code('/domain names lame')}`] : []),
      ...notes,
    ]),
  );
}

function unrecordedText({ zone, count: total, names }: UnrecordedNames): string {
  const [verb, them] = total === 1 ? ["doesn't exist", 'it'] : ["don't exist", 'them'];
  const shown = names.map((name) => escapeText(displayName(name))).join(', ');
  const more = total > names.length ? ` and ${total - names.length} more` : '';
  return `The .${escapeText(displayName(zone))} registry answers that ${total} of your names ${verb}, though its zone delegates ${them}: ${shown}${more}. Dates and locks can’t be checked there until this is fixed. Ask your registrar if it lasts.`;
}
