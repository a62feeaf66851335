import type { NameHistory } from './history.ts';
import { NO_MAIL, WEB } from './impact.ts';

/** Undefined while unknown. */
export function isInUse(history: NameHistory): boolean | undefined {
  const lives = [
    ...WEB.map((fact) => history[fact]?.current?.value.length),
    history.mx?.current?.value.filter((server) => server !== NO_MAIL).length,
  ];
  if (lives.some((count) => count !== undefined && count > 0)) return true;
  return lives.includes(undefined) ? undefined : false;
}
