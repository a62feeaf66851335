/** Whether two records name the same registrar. Letters and digits count: records differ in case and punctuation. */
export function isSameRegistrarName(one: string, other: string): boolean {
  return comparable(one) === comparable(other);
}

function comparable(name: string): string {
  return name.toLowerCase().replace(/[^\p{L}\p{N}]/gu, '');
}
