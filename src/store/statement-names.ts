/**
 * More than the bot's fixed statements. Limited, so that texts built from lists don't fill the database
 * server's memory.
 */
const MAX_NAMES = 400;
/** Maximum number of remembered texts that were used once. */
const MAX_SEEN_TEXTS = 400;

/**
 * Returns a function that names statements. A connection parses and plans a named statement once, but an
 * unnamed one every time, which takes half of the database's time. A text gets a name when it is used the
 * second time; until then, the function returns an empty string.
 */
export function createStatementNamer(): (text: string) => string {
  const names = new Map<string, string>();
  const seenTexts = new Set<string>();
  return (text) => {
    const existingName = names.get(text);
    if (existingName !== undefined || names.size === MAX_NAMES) return existingName ?? '';
    if (seenTexts.delete(text)) {
      const name = `s${names.size}`;
      names.set(text, name);
      return name;
    }
    if (seenTexts.size === MAX_SEEN_TEXTS) seenTexts.clear();
    seenTexts.add(text);
    return '';
  };
}
