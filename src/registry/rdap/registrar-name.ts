/** Compares only letters and digits, because records differ in case and punctuation. */
export function isSameRegistrarName(one: string, other: string): boolean {
  return normalizeName(one) === normalizeName(other);
}

/** Also true if one of the registrars is unknown. */
export function mayBeSameRegistrar(one: string | undefined, other: string | undefined): boolean {
  return one === undefined || other === undefined || isSameRegistrarName(one, other);
}

function normalizeName(name: string): string {
  return name.toLowerCase().replace(/[^\p{L}\p{N}]/gu, '');
}
