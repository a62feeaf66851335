/** Compares only letters and digits, because records differ in case and punctuation. */
export function isSameRegistrarName(name: string, otherName: string): boolean {
  return normalizeName(name) === normalizeName(otherName);
}

/** Also true if one of the registrars is unknown. */
export function mayBeSameRegistrar(name: string | undefined, otherName: string | undefined): boolean {
  return name === undefined || otherName === undefined || isSameRegistrarName(name, otherName);
}

function normalizeName(name: string): string {
  return name.toLowerCase().replace(/[^\p{L}\p{N}]/gu, '');
}
