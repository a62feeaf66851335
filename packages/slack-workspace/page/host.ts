import type { ComponentChildren } from 'preact';
import type { Snapshot, View } from '../src/protocol.ts';
import type { Listener } from './api.ts';
import type { Place } from './place.ts';

/*
 * What a host adds to the page. A host is a program that serves the workspace with additions of its own.
 */

/** What a host wants to be used next; the page marks it. */
export type Target =
  | { kind: 'person'; user: string }
  | { kind: 'channel'; channel: string }
  | { kind: 'composer'; text: string }
  /** A button of a message; of several with the same id, the one with the value. */
  | { kind: 'action'; ts: string; actionId: string; value?: string }
  | { kind: 'thread'; ts: string }
  | { kind: 'form'; callbackId: string };

/** What a host gets at each rendering. */
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
  /** The form is what is to be used next. */
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
  /** A pane at the side, of the class `host-pane`. */
  pane?: ComponentChildren;
  /** Above the inputs of a form. */
  formHelp?(form: FormHelp): ComponentChildren;
}

/** A hook that returns the host's additions. */
export type UseHost = (situation: Situation) => HostParts;
