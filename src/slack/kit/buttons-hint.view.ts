export function buttonsHint(command: string): string {
  return `To act on it, use \`${command}\`.`;
}
