import type { ComponentChildren } from 'preact';
import type { Snapshot, View } from '../src/protocol.ts';
import type { Listener } from './api.ts';
import type { Place } from './place.ts';

/* A host's additions to the page. A host is a program that serves the workspace with its own additions. */

/** The element that the page highlights. */
export type Target =
  | { kind: 'person'; user: string }
  | { kind: 'channel'; channel: string }
  | { kind: 'composer'; text: string }
  /** A button of a message; if several have the same id, the one with the value. */
  | { kind: 'action'; ts: string; actionId: string; value?: string }
  | { kind: 'thread'; ts: string }
  | { kind: 'form'; callbackId: string };

/** The host's input at each rendering. */
export interface Situation {
  snapshot: Snapshot;
  place: Place;
  /**
   * Listens to changes of the workspace and to events of the host's server.
   * @returns stops listening
   */
  listen(listener: Listener): () => void;
}

export interface FormHelp {
  view: View;
  /** Whether the form is highlighted. */
  next: boolean;
  /** Puts values into the inputs, by block id. */
  fill(values: Readonly<Record<string, string>>): void;
}

export interface HostParts {
  target?: Target | undefined;
  /** In the bar at the top. */
  bar?: ComponentChildren;
  /** Below the bar. */
  notice?: ComponentChildren;
  /** A pane at the side, with the class `host-pane`. */
  pane?: ComponentChildren;
  /** Above the inputs of a form. */
  formHelp?(form: FormHelp): ComponentChildren;
}

/** A hook that returns the host's additions. */
export type UseHost = (situation: Situation) => HostParts;
