/** Whether a text is the bot's daily message about renewals by mandates. */
export function isMandateDay(text: string): boolean {
  return /^(?:Mandates (?:will|can’t) renew|Renewals by mandates:) /.test(text);
}
