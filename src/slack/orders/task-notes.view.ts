import type { TaskNote } from '../../zones/zone-tasks.ts';

/* What somebody must know before they agree to a task, for cards and confirmations. Plain text. */

/** One note as a sentence. */
export function formatTaskNote(note: TaskNote): string {
  switch (note.code) {
    case 'costs_money':
      return 'This costs money.';
    case 'charge_assumed':
      return 'It is taken to cost money, as it does in .rest: the service’s document says nothing of this zone.';
    case 'zone_not_documented':
      return 'No rules are known for this zone: only what DNS itself demands was checked, and the service decides the rest.';
    case 'premium_names':
      return note.words;
    case 'processed_manually':
      return 'It is processed by hand, so it can take a while.';
    case 'contacts_need_email':
      return 'The owner, admin and tech contact each need an e-mail address at the service.';
    case 'transfer_renews':
      return 'The transfer renews the name too.';
    case 'auth_code_needed':
      return 'It needs the auth code.';
    case 'period_taken_for_years':
      return 'The service’s document gives the period no unit; it is taken for years.';
    case 'website_and_mail_stop':
      return 'The website and e-mail of the name stop working.';
    case 'replaces_nameservers':
      return 'It is assumed that this replaces all nameservers. A wrong one takes website and mail down.';
    case 'auth_code_gives_name_away':
      return 'Whoever has the auth code can transfer the name away.';
    case 'new_owner_not_sent':
      return 'The service’s document has no place for the new owner: this only starts the process.';
    case 'registrants_notified':
      return 'The current and the new registrant are notified.';
    case 'sent_as_confirmed':
      return 'It is sent as confirmed, unless who asked took the tick away: asking for it here, and approving it, is the confirmation.';
    case 'locks_transfers':
      return `It cannot be transferred for ${note.days} days afterwards.`;
    case 'locks_transfers_unless_opted_out':
      return `It cannot be transferred for ${note.days} days afterwards, unless the registrant opts out before: ask the service how.`;
    case 'approved_automatically':
      return `It goes through after ${note.days} days at the latest when the losing registrar does not respond.`;
    case 'restorable':
      return `It is possible for ${note.days} days after the deletion.`;
    case 'restorable_then_free':
      return `It can be restored for ${note.restorableDays} days, which costs money; ${note.pendingDeleteDays} days later anybody can register it.`;
  }
}
