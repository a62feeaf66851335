/** Whether two records name the same registrar. Letters and digits count: records differ in case and punctuation. */
export function isSameRegistrarName(one: string, other: string): boolean {
  return comparable(one) === comparable(other);
}

/** The same where one of them is not known: nothing shows then that they differ. */
export function mayBeSameRegistrar(one: string | undefined, other: string | undefined): boolean {
  return one === undefined || other === undefined || isSameRegistrarName(one, other);
}

function comparable(name: string): string {
  return name.toLowerCase().replace(/[^\p{L}\p{N}]/gu, '');
}
