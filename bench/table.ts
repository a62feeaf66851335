import { computeSpread, isMet, type Line, type Spread, type Target, targetFigures } from './measure.ts';

export function formatTable(lines: readonly Line[]): string {
  const rows = [
    ['row', 'what', 'ours', 'reference', 'of it', 'assessed (least … most)', 'target', ''],
    ...lines.map(formatCells),
  ];
  const widths = rows[0]?.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0))) ?? [];
  const text = rows.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  );
  return [text[0], widths.map((width) => '-'.repeat(width)).join('  '), ...text.slice(1)].join('\n');
}

function formatCells(line: Line): string[] {
  const isTargetMet = isMet(line);
  return [
    line.row,
    line.what,
    `${formatFigure(computeSpread(line.ours).median)} ${line.unit}`,
    line.theirs.length === 0 ? '–' : `${formatFigure(computeSpread(line.theirs).median)} ${line.unit}`,
    line.reference,
    formatAssessment(line, computeSpread(targetFigures(line))),
    line.target === undefined ? '–' : formatTarget(line.target, line.unit),
    isTargetMet === undefined ? '' : isTargetMet ? 'met' : 'NOT MET',
  ];
}

function formatAssessment({ target, theirs, unit }: Line, { median, min, max }: Spread): string {
  const of = target?.of ?? (theirs.length === 0 ? 'ours' : 'ratio');
  const sign = of === 'ratio' ? '×' : ` ${unit}`;
  return `${formatFigure(median)}${sign} (${formatFigure(min)} … ${formatFigure(max)})`;
}

function formatTarget({ of, kind, value }: Target, unit: string): string {
  const bound = kind === 'at least' ? '≥' : '≤';
  if (of === 'ratio') return `${bound} ${value}×`;
  return `${bound} ${of === 'difference' ? '+' : ''}${value} ${unit}`;
}

/** Rounds to three significant digits. */
function formatFigure(value: number): string {
  if (!Number.isFinite(value)) return String(value);
  const digits = Math.max(0, 2 - Math.floor(Math.log10(Math.max(Math.abs(value), 0.001))));
  return value.toFixed(Math.min(digits, 3));
}
