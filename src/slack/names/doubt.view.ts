import type { DateDoubt } from '../../names/dates.ts';
import type { RecordProblem } from '../../names/registry-record.ts';
import { getUtcDay } from '../../zones/calendar-day.ts';

/* Says why the registry's date isn't used. */

/** Completes “Registry lookup: …”. */
export function formatDoubt(doubt: DateDoubt): string {
  switch (doubt.code) {
    case 'not_registered':
      return 'the registry has no record of it, so it may not be registered';
    case 'undated':
      return formatProblem(doubt.problem);
    case 'distrusted':
      return formatDistrust(doubt);
    case 'renewal_not_shown':
      return `it was renewed, but the registry still shows ${getUtcDay(doubt.shown)}`;
  }
}

function formatDistrust({ distrust, movedTo }: Extract<DateDoubt, { code: 'distrusted' }>): string {
  const date = `its expiry date changed to ${getUtcDay(movedTo)}`;
  switch (distrust.code) {
    case 'another_registrar':
      return `${date} and the registrar from “${distrust.before}” to “${distrust.now}”, so it’s a transfer, not a renewal`;
    case 'registrar_unseen':
      return `${date}, but the registrar “${distrust.before}” is no longer shown, so it may be a transfer, not a renewal`;
    case 'transferred':
      return `${date} because of a transfer on ${getUtcDay(distrust.at)}, so it wasn’t a renewal`;
  }
}

function formatProblem({ code, detail = '' }: RecordProblem): string {
  switch (code) {
    case 'no_bootstrap':
      return 'the list of registries couldn’t be read';
    case 'no_public_record':
      return 'this zone publishes no records';
    case 'busy':
      return `its server is busy (HTTP ${detail})`;
    case 'waiting':
      return 'its server told us to wait';
    case 'http_status':
      return `its server returned HTTP ${detail}`;
    case 'not_rdap':
      return `its server’s response isn’t a valid record${detail === '' ? '' : ` (${detail})`}`;
    case 'too_many_redirects':
      return 'its server redirects too often';
    case 'redirect_to_nowhere':
      return 'its server redirects to an invalid address';
    case 'redirect_unsafe':
      return 'its server redirects to an unsafe address';
    case 'too_large':
      return 'its record is larger than 1 MB';
    case 'timeout':
      return detail === '' ? 'its server took too long' : `its server took more than ${detail} s`;
    case 'private_address':
      return 'its server has a private address';
    case 'unreachable':
      return `its server can’t be reached${detail === '' ? '' : ` (${detail})`}`;
    case 'not_a_domain':
      return 'its record isn’t a domain record';
    case 'other_name':
      return 'its record is for another name';
    case 'no_expiration':
      return 'its record has no expiry date';
    case 'unreadable_expiration':
      return `its expiry date can’t be read: “${detail}”`;
    case 'delegated_without_record':
      return 'the registry has no record of it, but DNS still delegates it, so it is registered';
  }
}
