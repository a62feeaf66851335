/** The registry's budget key. Zones that share a server are looked up more carefully than needed. */
export function registryOf(name: string): string {
  return name.slice(name.lastIndexOf('.') + 1);
}
