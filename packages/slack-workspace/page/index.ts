/*
 * For a host that builds a page of its own around the workspace's. What has no components can be had by its file too,
 * as in `@domain-steward/slack-workspace/page/json`.
 */
export { getJson, postJson } from './api.ts';
export { App } from './app.tsx';
export { useChat } from './chat.ts';
export { clockTime, placeOfZone } from './dates.ts';
export { useReader, useStored } from './hooks.ts';
export type { FormHelp, HostParts, Situation } from './host.ts';
export { ClockIcon, CloseIcon } from './icons.tsx';
export type { Place } from './place.ts';
