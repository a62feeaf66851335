import type { RecordFinding } from '../../orders/record-finding.ts';
import { day, firstOf } from '../kit/mrkdwn.ts';

/*
 * What public records show of a request.
 */

/** What was seen, in sentences that are not escaped yet. */
export function recordFindingText(finding: RecordFinding): string {
  const isOverHttp = 'overHttp' in finding && finding.overHttp === true;
  return `${textOf(finding)}${isOverHttp ? ' The record came over plain http.' : ''}`;
}

function textOf(finding: RecordFinding): string {
  switch (finding.code) {
    case 'not_registered':
      return 'No registration of the name was seen.';
    case 'registration_seen': {
      const { registeredAt } = finding;
      const when = registeredAt === undefined ? 'without a date' : `of ${dayOf(registeredAt)}`;
      return `The registry shows a registration ${when} with ${nameServersText(finding)}.`;
    }
    case 'nameservers_seen':
      return `The registry shows ${nameServersText(finding)}.`;
    case 'statuses_seen':
      return `The registry shows the name with ${statusesText(finding)}.`;
    case 'registrar_seen': {
      const { registrar, transferredAt } = finding;
      const whose = registrar === undefined ? 'no registrar' : `“${registrar}” as the registrar`;
      const transfer =
        transferredAt === undefined
          ? 'No transfer since this was sent was seen.'
          : `It shows a transfer of ${dayOf(transferredAt)}.`;
      return `The registry names ${whose}, with ${statusesText(finding)}. ${transfer}`;
    }
    case 'expiry_seen':
      return `The registry shows that the name expires on ${dayOf(finding.expiresAt)}. What it showed before is not known.`;
    case 'expiry_unmoved':
      return `No renewal was seen: the registry shows that the name expires on ${dayOf(finding.expiresAt)}, as before.`;
    case 'expiry_moved': {
      const moved = `The registry shows that the name expires on ${dayOf(finding.expiresAt)}. Before this was sent, that was ${dayOf(finding.before)}.`;
      return finding.otherCause === undefined ? moved : `${moved} ${OTHER_CAUSES[finding.otherCause]}`;
    }
    case 'registered':
      return 'The registry shows the name registered when this was sent, with the nameservers asked for.';
    case 'renewed':
      return `The registry’s expiry date has moved by the years asked for, from ${dayOf(finding.before)} to ${dayOf(finding.expiresAt)}.`;
    case 'nameservers_set':
      return 'The registry shows the nameservers asked for. It showed others before this was sent, and no other order asked for them.';
    case 'transferred':
      return 'The registry shows a transfer since this was sent, to another registrar than before, with the nameservers asked for.';
    case 'deleted':
      return 'The registry shows the name deleted when this was sent, before its end.';
    case 'restored':
      return 'The registry showed the name deleted before this was sent. It shows the same registration without that now.';
  }
}

const OTHER_CAUSES = {
  expiry_passed: 'It moved after that day, when registries move it by themselves.',
  transfer: 'The registrar may have changed too, and a transfer moves the date.',
} as const;

/** For a registry's moment the day in UTC. */
function dayOf(moment: string): string {
  return day(new Date(moment));
}

function nameServersText(shown: {
  readonly nameServers: readonly string[];
  readonly areAskedFor: boolean;
}): string {
  if (shown.areAskedFor) return 'the nameservers asked for';
  return shown.nameServers.length === 0
    ? 'no nameservers'
    : `other nameservers: ${firstOf(shown.nameServers, LISTED)}`;
}

function statusesText({ statuses }: { readonly statuses: readonly string[] }): string {
  return statuses.length === 0
    ? 'no status'
    : `the status ${firstOf(
        statuses.map((status) => `“${status}”`),
        LISTED,
      )}`;
}

const LISTED = 6;
