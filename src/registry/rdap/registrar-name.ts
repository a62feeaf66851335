/** Compares letters and digits only: records differ in case and punctuation. */
export function isSameRegistrarName(one: string, other: string): boolean {
  return normalizeName(one) === normalizeName(other);
}

/** True when one is unknown. */
export function mayBeSameRegistrar(one: string | undefined, other: string | undefined): boolean {
  return one === undefined || other === undefined || isSameRegistrarName(one, other);
}

function normalizeName(name: string): string {
  return name.toLowerCase().replace(/[^\p{L}\p{N}]/gu, '');
}
