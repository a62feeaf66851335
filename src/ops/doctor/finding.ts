/** The result of a check. The texts are for the operator. */
export interface Finding {
  readonly subject: string;
  /** `warning`: the bot works, but has a problem. `wrong`: something doesn't work. */
  readonly outcome: 'ok' | 'warning' | 'wrong';
  readonly found: string;
  readonly action?: string;
}

export const ok = (subject: string, found: string): Finding => ({ subject, outcome: 'ok', found });
export const warning = (subject: string, found: string, action: string): Finding => ({
  ...{ subject, found, action },
  outcome: 'warning',
});
export const wrong = (subject: string, found: string, action: string): Finding => ({
  ...{ subject, found, action },
  outcome: 'wrong',
});

/** Formats one line: `ok       Database: PostgreSQL 18.1`. */
export function formatFinding({ subject, outcome, found, action }: Finding): string {
  return `${outcome.padEnd(7)}  ${subject}: ${found}${action === undefined ? '' : ` ${action}`}`;
}

export function formatSummary(found: readonly Finding[]): string {
  const count = (outcome: Finding['outcome']) =>
    found.filter((finding) => finding.outcome === outcome).length;
  return `${count('wrong')} wrong, ${count('warning')} warning, ${count('ok')} ok.`;
}

/** The last line: `Ready.`, or the first thing to fix. */
export function formatNextStep(found: readonly Finding[]): string {
  const first = found.find(({ outcome }) => outcome === 'wrong');
  return first === undefined ? 'Ready.' : `Next: ${first.subject}: ${first.action ?? first.found}`;
}

export function formatCount(count: number, one: string, many = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`;
}
