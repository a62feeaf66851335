import type { TaskNote } from '../../zones/zone-tasks.ts';

/* Notes that people should read before they agree to a task, for cards and confirmations. Plain text. */

export function formatTaskNote(note: TaskNote): string {
  switch (note.code) {
    case 'costs_money':
      return 'This costs money.';
    case 'charge_assumed':
      return 'This probably costs money, as in .rest. The service’s documentation doesn’t cover this zone.';
    case 'zone_not_documented':
      return 'I don’t know this zone’s rules. I checked only the general DNS rules; the service checks the rest.';
    case 'premium_names':
      return note.text;
    case 'processed_manually':
      return 'It’s processed by hand, so it can take a while.';
    case 'contacts_need_email':
      return 'The owner, admin and tech contacts each need an email address on file with the service.';
    case 'transfer_renews':
      return 'The transfer also renews the name.';
    case 'auth_code_needed':
      return 'The auth code is required.';
    case 'period_assumed_in_years':
      return 'The service’s documentation doesn’t name the period’s unit, so I assume years.';
    case 'website_and_mail_stop':
      return 'The name’s website and mail will stop working.';
    case 'replaces_nameservers':
      return 'This probably replaces all nameservers. A mistake can take the name offline.';
    case 'auth_code_allows_transfer':
      return 'Anyone with the auth code can transfer the name away.';
    case 'new_owner_not_sent':
      return 'The service’s API has no field for the new owner, so this only starts the process.';
    case 'registrants_notified':
      return 'The current and the new registrant are notified.';
    case 'sent_as_confirmed':
      return 'The request tells the service that the order is confirmed, unless the requester cleared “Send it as confirmed”. Your team’s request and approval count as the confirmation.';
    case 'locks_transfers':
      return `The name can’t be transferred for ${note.days} days afterwards.`;
    case 'locks_transfers_unless_opted_out':
      return `The name can’t be transferred for ${note.days} days afterwards unless the registrant opts out first. Ask the service how.`;
    case 'approved_automatically':
      return `If the losing registrar doesn’t respond, the transfer completes within ${note.days} days.`;
    case 'restorable':
      return `A restore is possible for ${note.days} days after the deletion.`;
    case 'restorable_then_available':
      return `The name can be restored for ${note.restorableDays} days, for a fee. ${note.pendingDeleteDays} days later, anyone can register it.`;
  }
}
