/** Returns the key of the lookup budget. Each zone has its own, even if zones share a registry server. */
export function getRegistryKey(name: string): string {
  return name.slice(name.lastIndexOf('.') + 1);
}
