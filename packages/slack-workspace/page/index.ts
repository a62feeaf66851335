/*
 * The exports for a host with its own page. Modules without components can also be imported by file, as in
 * `@domain-steward/slack-workspace/page/json`.
 */
export { getJson, postJson } from './api.ts';
export { App } from './app.tsx';
export { useChat } from './chat.ts';
export { formatClockTime, getZonePlace } from './dates.ts';
export { useReader, useStoredValue } from './hooks.ts';
export type { FormHelp, HostContext, HostParts } from './host.ts';
export { ClockIcon, CloseIcon } from './icons.tsx';
export type { Place } from './place.ts';
