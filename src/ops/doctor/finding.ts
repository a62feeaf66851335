/** The result of a check, as text for the operator. */
export interface Finding {
  readonly subject: string;
  /** `warning`: there is a problem, but the bot works. `wrong`: something doesn't work. */
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

export function formatSummary(findings: readonly Finding[]): string {
  const count = (outcome: Finding['outcome']) =>
    findings.filter((finding) => finding.outcome === outcome).length;
  return `${count('wrong')} wrong, ${count('warning')} warning, ${count('ok')} ok.`;
}

/** Returns `Ready.` or the first thing to fix. */
export function formatNextStep(findings: readonly Finding[]): string {
  const firstProblem = findings.find(({ outcome }) => outcome === 'wrong');
  return firstProblem === undefined
    ? 'Ready.'
    : `Next: ${firstProblem.subject}: ${firstProblem.action ?? firstProblem.found}`;
}

export function formatCount(count: number, singular: string, plural = `${singular}s`): string {
  return `${count} ${count === 1 ? singular : plural}`;
}
