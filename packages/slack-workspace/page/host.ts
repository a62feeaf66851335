import type { ComponentChildren } from 'preact';
import type { Snapshot, View } from '../src/protocol.ts';
import type { Listener } from './api.ts';
import type { Place } from './place.ts';

/*
 * What a host adds to the page: a program that serves the workspace beside something of its own.
 */

/** What a host wants to be used next; the page marks it. */
export type Target =
  | { kind: 'person'; user: string }
  | { kind: 'channel'; channel: string }
  | { kind: 'composer'; text: string }
  | { kind: 'action'; ts: string; actionId: string }
  | { kind: 'thread'; ts: string }
  | { kind: 'form'; callbackId: string };

/** What a host is told at each rendering. */
export interface Situation {
  snapshot: Snapshot;
  place: Place;
  /** Listens to what changes in the workspace, and to what the host's server announces. @returns the end */
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

/** A hook that tells what the host adds. */
export type UseHost = (situation: Situation) => HostParts;
