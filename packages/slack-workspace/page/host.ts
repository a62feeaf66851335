import type { ComponentChildren } from 'preact';
import type { Snapshot, View } from '../src/protocol.ts';
import type { Listener } from './api.ts';
import type { Place } from './place.ts';

/* A host is a program that serves the workspace with its own additions to the page. */

/** The element that the page highlights. */
export type HighlightTarget =
  | { kind: 'person'; user: string }
  | { kind: 'channel'; channel: string }
  | { kind: 'composer'; text: string }
  /** A button of a message. `value` selects one of several with the same action id. */
  | { kind: 'action'; ts: string; actionId: string; value?: string }
  | { kind: 'thread'; ts: string }
  | { kind: 'form'; callbackId: string };

/** The host's input at each rendering. */
export interface HostContext {
  snapshot: Snapshot;
  place: Place;
  /**
   * Listens to changes of the workspace and to events of the host's server.
   * @returns a function that stops listening
   */
  listen(listener: Listener): () => void;
}

export interface FormHelp {
  view: View;
  /** Whether the form is highlighted. */
  isHighlighted: boolean;
  /** Fills in inputs. `values` is keyed by block id. */
  fill(values: Readonly<Record<string, string>>): void;
}

export interface HostParts {
  target?: HighlightTarget | undefined;
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
export type UseHost = (situation: HostContext) => HostParts;
