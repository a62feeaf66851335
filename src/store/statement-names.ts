/**
 * More than the bot's fixed statements need. Limited, so that texts built from lists don't fill the server's memory.
 */
const MAX_NAMES = 400;
/** Maximum number of remembered texts that were used once. */
const MAX_SEEN = 400;

/**
 * Names the texts of statements. A connection parses and plans a named statement once, but an unnamed one every time,
 * which takes half of the database's time. A text gets a name when it is used the second time.
 * @returns the name; empty if the text has none
 */
export function createStatementNames(): (text: string) => string {
  const names = new Map<string, string>();
  const seen = new Set<string>();
  return (text) => {
    const existing = names.get(text);
    if (existing !== undefined || names.size === MAX_NAMES) return existing ?? '';
    if (seen.delete(text)) {
      const name = `s${names.size}`;
      names.set(text, name);
      return name;
    }
    if (seen.size === MAX_SEEN) seen.clear();
    seen.add(text);
    return '';
  };
}
