/** The registry's budget key. Zones that share a server are looked up more slowly than necessary. */
export function getRegistry(name: string): string {
  return name.slice(name.lastIndexOf('.') + 1);
}
