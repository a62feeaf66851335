/** The path of helm, or undefined if there is none for this machine. */
export function findHelm(): string | undefined;
