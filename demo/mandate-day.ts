/** Whether a text is the bot's message about the renewals of mandates on a day. Used by the demo and its page. */
export function isMandateDay(text: string): boolean {
  return /^Mandates (?:will|can’t) renew /.test(text);
}
