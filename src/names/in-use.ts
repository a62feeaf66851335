import type { NameHistory } from './history.ts';
import { NO_MAIL, WEB } from './impact.ts';

/** Whether a website or mail was seen on a name; undefined while that is not known. */
export function isInUse(history: NameHistory): boolean | undefined {
  const lives = [
    ...WEB.map((fact) => history[fact]?.current?.value.length),
    history.mx?.current?.value.filter((server) => server !== NO_MAIL).length,
  ];
  if (lives.some((count) => count !== undefined && count > 0)) return true;
  return lives.includes(undefined) ? undefined : false;
}
