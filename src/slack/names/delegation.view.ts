import type { FaultyName, UnrecordedNames } from '../../names/ports.ts';
import { displayName } from '../../zones/names.ts';
import { code, count, escapeText, lines, type Message, message } from '../kit/blocks.ts';
import { findingText } from './posture.view.ts';

/* Texts about delegations. */

const NAMES_SHOWN = 20;

export function newFaultsMessage(
  names: readonly FaultyName[],
  registries: readonly UnrecordedNames[],
): Message {
  const title = `${count(names.length, 'name')} with a new delegation problem`;
  const faults = names
    .slice(0, NAMES_SHOWN)
    .map(
      ({ name, faults: [worst] }) =>
        `${escapeText(displayName(name))} · ${worst === undefined ? '' : findingText({ code: worst })}`,
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
