import { ORDER_TASKS } from '../../orders/tasks.ts';
import { formatDomainName } from '../../zones/names.ts';
import type { ZoneIssue } from '../../zones/zone-issue.ts';

/* Plain-text messages for input that breaks a rule of the zone or of DNS. */

type ZoneIssueOf<Code extends ZoneIssue['code']> = Extract<ZoneIssue, { readonly code: Code }>;

export function formatZoneIssue(issue: ZoneIssue): string {
  switch (issue.code) {
    case 'name_missing':
      return 'Enter a name, for example cafe.rest.';
    case 'link_mismatch':
      return `The link shows ${issue.shown} but leads to ${issue.target}. Type the name itself.`;
    case 'email_address':
      return `“${issue.text}” looks like an email address. Enter only the part after the @.`;
    case 'empty_label':
      return `“${issue.text}” has two dots in a row, or starts with a dot. Remove one.`;
    case 'invalid_xn_form':
      return `“${issue.text}” isn’t a valid xn-- form. Enter the name with its original letters.`;
    case 'invisible_character':
      return `“${issue.text}” contains an invisible character. Type the name again.`;
    case 'ip_address':
      return `“${issue.text}” is an IP address or ends in a number. Enter a name such as cafe.rest.`;
    case 'letters_not_allowed':
      return `“${issue.text}” has letters that domain names can’t have. Check the spelling.`;
    case 'symbol_not_allowed':
      return `“${issue.text}” contains a character that isn’t a letter or digit. Remove it.`;
    case 'character_not_allowed':
      return `“${issue.text}” contains ${formatCharacter(issue.character)}. Remove it.`;
    case 'no_ending':
      return `“${issue.text}” has no TLD. Enter the full name, for example ${issue.example}.`;
    case 'hyphen_at_edge':
      return `“${issue.label}” starts or ends with a hyphen. Remove it.`;
    case 'label_too_long':
      return `“${issue.label}” has ${issue.length} characters${issue.encoded ? ' in its xn-- form' : ''}. Use at most ${issue.max} between the dots.`;
    case 'name_too_long':
      return `The name has ${issue.length} characters. Use at most ${issue.max}.`;
    case 'subdomain':
      return `${issue.name} is a subdomain of ${issue.registered}. Use ${issue.registered} instead.`;
    case 'public_suffix':
      return `${issue.name} can’t be registered. Enter a name below it, such as cafe.${issue.name}.`;
    case 'label_length':
      return `“${issue.label}” has ${issue.length} characters. Use ${formatRange(issue)} between the dots.`;
    case 'reserved_hyphens':
      return `“${issue.label}” has hyphens in positions 3 and 4, which are reserved. Change it.`;
    case 'letters_not_in_zone':
      return `“${issue.label}” has letters that .${issue.zone} doesn’t allow. Use a–z, 0–9, hyphens and western European letters such as é, ü or ñ.`;
    case 'nameserver_unreadable':
      return `Nameserver: ${formatZoneIssue(issue.issue)}`;
    case 'nameserver_repeated':
      return `${formatDomainName(issue.host)} is listed more than once. Enter each nameserver once.`;
    case 'nameserver_count':
      return formatNameServerCount(issue);
    case 'period_out_of_range':
      return `The period must be a whole number of years${issue.max === undefined ? `, at least ${issue.min}` : ` from ${issue.min} to ${issue.max}`}. Change it.`;
    case 'task_not_offered':
      return `${formatTaskSubject(issue.task)} isn’t possible in .${issue.zone}. Ask the domain service for another way.`;
  }
}

function formatCharacter(character: string): string {
  if (/^\p{Zs}$/u.test(character)) return 'a space';
  return character === '_' ? 'an underscore' : `“${character}”`;
}

function formatNameServerCount({ zone, given, min, max }: ZoneIssueOf<'nameserver_count'>): string {
  const subject = zone === undefined ? 'A name' : `A .${zone} name`;
  const noun = (max ?? min) === 1 ? 'nameserver' : 'nameservers';
  const change = given < min ? 'Add more' : 'Remove some';
  return `${subject} needs ${formatRange({ min, max })} ${noun}, but you entered ${given}. ${change}.`;
}

function formatRange({ min, max }: { readonly min: number; readonly max?: number | undefined }): string {
  return max === undefined ? `at least ${min}` : `${min} to ${max}`;
}

/** The task as the subject of a sentence. Zone profiles have their own keys for tasks. */
function formatTaskSubject(profileKey: string): string {
  const task = Object.values(ORDER_TASKS).find(({ zoneTask }) => zoneTask?.profileKey === profileKey);
  return task?.zoneTask?.activityLabel ?? `“${profileKey}”`;
}
