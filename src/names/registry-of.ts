/** The key of the registry's budget. Zones that share a registry server are looked up more slowly than necessary. */
export function getRegistryKey(name: string): string {
  return name.slice(name.lastIndexOf('.') + 1);
}
