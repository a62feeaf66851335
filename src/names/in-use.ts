import type { NameHistory } from './history.ts';
import { NULL_MX, WEB_FACTS } from './impact.ts';

/** @returns undefined if unknown */
export function isInUse(history: NameHistory): boolean | undefined {
  const recordCounts = [
    ...WEB_FACTS.map((fact) => history[fact]?.current?.value.length),
    history.mx?.current?.value.filter((server) => server !== NULL_MX).length,
  ];
  if (recordCounts.some((count) => count !== undefined && count > 0)) return true;
  return recordCounts.includes(undefined) ? undefined : false;
}
