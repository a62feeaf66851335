import { expiryDay } from '../../expiry/days.ts';
import { type DomainName, displayName, parseDomainName } from '../../zones/names.ts';
import { checkName, documentedZones, zoneFor } from '../../zones/rules.ts';
import type { CommandCall, Feature } from '../feature.ts';
import { ownSentence, say } from '../views/kit.ts';
import { type NameDates, rulesMessage, zonesMessage } from '../views/rules.ts';

/*
 * What a zone allows, and where a watched name stands in its life.
 */

async function runRules(call: CommandCall): Promise<void> {
  const [word, ...more] = call.words;
  if (word === undefined) return call.tell(zonesMessage(documentedZones()));
  if (more.length > 0) return call.tell(say('Give one name or one zone, such as `/domain rules cafe.rest`.'));
  const { reminderTimezone: timeZone } = await call.deps.settings();
  const at = { now: call.deps.now(), timeZone };

  const zone = readZone(word);
  if (zone !== undefined) return call.tell(rulesMessage(zoneFor(zone), zone, undefined, at));
  const parsed = parseDomainName(word);
  if (!parsed.ok) return call.tell(say(ownSentence(parsed.problem)));
  const name = parsed.value;
  const profile = zoneFor(name.ascii);
  const rules = {
    name: displayName(name.ascii),
    problems: checkName(name),
    dates: await datesOf(call, name, timeZone),
  };
  await call.tell(rulesMessage(profile, profile.documented ? profile.zone : name.zone, rules, at));
}

/** `rest` or `.rest`: a zone, not a name. */
function readZone(word: string): string | undefined {
  const zone = word.replace(/^\./, '').replace(/\.$/, '');
  if (zone.includes('.') && !word.startsWith('.')) return undefined;
  const parsed = parseDomainName(`name.${zone}`);
  return parsed.ok ? parsed.value.ascii.slice('name.'.length) : undefined;
}

async function datesOf(
  call: CommandCall,
  name: DomainName,
  timeZone: string,
): Promise<NameDates | undefined> {
  const watched = await call.deps.expiry.find(name.ascii);
  if (watched?.expiry === undefined) return undefined;
  const { at, source } = watched.expiry;
  return {
    expiresAt: at,
    source,
    expiryDay: expiryDay(at, source, timeZone),
    deletedAt: watched.deletedAt,
  };
}

export const rules: Feature = {
  commands: [
    {
      name: 'rules',
      usage: 'rules [NAME or ZONE]',
      summary: 'Show what a zone allows: tasks, charges, limits and dates',
      example: '/domain rules cafe.rest',
      needs: 'member',
      run: runRules,
    },
  ],
};
