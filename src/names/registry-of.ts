/**
 * The registry whose budget a look uses. At most, several zones share one server; then the look is more careful than it
 * need be.
 */
export function registryOf(name: string): string {
  return name.slice(name.lastIndexOf('.') + 1);
}
