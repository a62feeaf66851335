import type { StoredEvidence } from '../../orders/record-finding.ts';
import { formatUtcDate, joinAtMost } from '../kit/mrkdwn.ts';

/* Describes what the public registry records show about a request. */

/** The caller must escape the text. */
export function formatRecordFinding(evidence: StoredEvidence): string {
  const cameOverHttp = 'overHttp' in evidence && evidence.overHttp === true;
  return `${evidenceText(evidence)}${cameOverHttp ? ' The record came over plain HTTP.' : ''}`;
}

function evidenceText(evidence: StoredEvidence): string {
  switch (evidence.code) {
    case 'not_registered':
      return 'No registration of the name was found.';
    case 'registration_seen': {
      const { registeredAt } = evidence;
      const date = registeredAt === undefined ? '' : ` on ${formatDay(registeredAt)}`;
      return `The registry shows a registration${date}, with ${nameServersText(evidence)}.`;
    }
    case 'nameservers_seen':
      return `The registry shows ${nameServersText(evidence)}.`;
    case 'statuses_seen':
      return `The registry shows the name with ${statusesText(evidence)}.`;
    case 'registrar_seen': {
      const { registrar, transferredAt } = evidence;
      const registrarText = registrar === undefined ? 'no registrar' : `“${registrar}” as the registrar`;
      const transferText =
        transferredAt === undefined
          ? 'No transfer found since this was sent.'
          : `It shows a transfer on ${formatDay(transferredAt)}.`;
      return `The registry shows ${registrarText}, with ${statusesText(evidence)}. ${transferText}`;
    }
    case 'expiry_seen':
      return `The registry shows the expiry date ${formatDay(evidence.expiresAt)}. The previous date is unknown.`;
    case 'expiry_unchanged':
      return `No renewal found: the registry still shows the expiry date ${formatDay(evidence.expiresAt)}.`;
    case 'expiry_changed': {
      const dateText = `The registry shows the expiry date ${formatDay(evidence.expiresAt)}. Before this was sent, it was ${formatDay(evidence.before)}.`;
      return evidence.otherCause === undefined
        ? dateText
        : `${dateText} ${OTHER_CAUSE_TEXTS[evidence.otherCause]}`;
    }
    case 'registered':
      return 'The registry shows that the name was registered at the time this was sent, with the requested nameservers.';
    case 'renewed':
      return `The expiry date at the registry moved by the requested number of years, from ${formatDay(evidence.before)} to ${formatDay(evidence.expiresAt)}.`;
    case 'nameservers_set':
      return 'The registry shows the requested nameservers. It showed others before this was sent, and no other order requested them.';
    case 'transferred':
      return 'The registry shows a transfer to another registrar since this was sent, with the requested nameservers.';
    case 'deleted':
      return 'The registry shows that the name was deleted at the time this was sent, before its expiry.';
    case 'restored':
      return 'The registry showed the name as deleted before this was sent. It now shows the same registration without that status.';
  }
}

const OTHER_CAUSE_TEXTS = {
  expiry_passed: 'It changed after the name expired, so the registry may have renewed it automatically.',
  transfer: 'The registrar may also have changed, and a transfer changes the date too.',
} as const;

/** Formats a registry's timestamp as a UTC date. */
function formatDay(timestamp: string): string {
  return formatUtcDate(new Date(timestamp));
}

function nameServersText(evidence: {
  readonly nameServers: readonly string[];
  readonly areRequested: boolean;
}): string {
  if (evidence.areRequested) return 'the requested nameservers';
  return evidence.nameServers.length === 0
    ? 'no nameservers'
    : `other nameservers: ${joinAtMost(evidence.nameServers, MAX_LISTED_VALUES)}`;
}

function statusesText({ statuses }: { readonly statuses: readonly string[] }): string {
  return statuses.length === 0
    ? 'no status'
    : `the status ${joinAtMost(
        statuses.map((status) => `“${status}”`),
        MAX_LISTED_VALUES,
      )}`;
}

const MAX_LISTED_VALUES = 6;
