/** How to act on a message that Slack takes only as text. */
export function buttonsHint(command: string): string {
  return `\`${command}\` shows it with its buttons.`;
}
