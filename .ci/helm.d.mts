/** The path of a helm; undefined where there is none for this machine. */
export function findHelm(): string | undefined;
