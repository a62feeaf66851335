import type { UnreliableDateReason } from '../../names/dates.ts';
import type { RecordProblem } from '../../names/registry-record.ts';
import { getUtcDay } from '../../zones/calendar-day.ts';

/** Returns a sentence without its final period. */
export function formatUnreliableDateReason(reason: UnreliableDateReason): string {
  switch (reason.code) {
    case 'not_registered':
      return 'The registry has no record of it, so it may not be registered';
    case 'undated':
      return formatRecordProblem(reason.problem);
    case 'distrusted':
      return formatDistrustReason(reason);
    case 'renewal_not_shown':
      return `It was renewed, but the registry still shows ${getUtcDay(reason.shown)}`;
  }
}

function formatDistrustReason({
  distrust,
  newDate,
}: Extract<UnreliableDateReason, { code: 'distrusted' }>): string {
  const newDateText = `The registry now shows expiry date ${getUtcDay(newDate)}`;
  switch (distrust.code) {
    case 'registrar_changed':
      return `${newDateText} and registrar “${distrust.now}” instead of “${distrust.before}”. That’s a transfer, not a renewal, so I kept the old date`;
    case 'registrar_missing':
      return `${newDateText}, but no longer the registrar (“${distrust.before}”). That may be a transfer, not a renewal, so I kept the old date`;
    case 'transferred':
      return `${newDateText}, because the name was transferred on ${getUtcDay(distrust.at)}. It wasn’t renewed, so I kept the old date`;
  }
}

function formatRecordProblem({ code, detail = '' }: RecordProblem): string {
  switch (code) {
    case 'no_bootstrap':
      return 'The list of registries couldn’t be read';
    case 'no_public_record':
      return 'This zone publishes no records';
    case 'busy':
      return `The registry’s server is busy (HTTP ${detail})`;
    case 'waiting':
      return 'The registry’s server asked me to wait';
    case 'http_status':
      return `The registry’s server returned HTTP ${detail}`;
    case 'not_rdap':
      return `The registry’s response isn’t a valid record${detail === '' ? '' : ` (${detail})`}`;
    case 'too_many_redirects':
      return 'The registry’s server redirects too often';
    case 'redirect_to_nowhere':
      return 'The registry’s server redirects to an invalid address';
    case 'redirect_unsafe':
      return 'The registry’s server redirects to an unsafe address';
    case 'too_large':
      return 'The registry’s record is larger than 1 MB';
    case 'timeout':
      return detail === ''
        ? 'The registry’s server took too long'
        : `The registry’s server took more than ${detail} s`;
    case 'private_address':
      return 'The registry’s server has a private address';
    case 'unreachable':
      return `The registry’s server can’t be reached${detail === '' ? '' : ` (${detail})`}`;
    case 'not_a_domain':
      return 'The registry’s record isn’t a domain record';
    case 'name_mismatch':
      return 'The registry’s record is for another name';
    case 'no_expiration':
      return 'The registry’s record has no expiry date';
    case 'unreadable_expiration':
      return `The registry’s expiry date can’t be read: “${detail}”`;
    case 'delegated_without_record':
      return 'The registry has no record of it, but DNS still delegates it, so it’s registered';
  }
}
