export function buttonsHint(command: string): string {
  return `\`${command}\` shows it with its buttons.`;
}
