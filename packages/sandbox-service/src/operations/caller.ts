import type { SandboxClock } from '../clock.ts';
import type { RegistryScript } from '../registry-script.ts';
import type { Sessions } from '../sessions.ts';
import type { SandboxState } from '../state.ts';

export interface Caller {
  readonly user: string;
  readonly context: number;
  readonly group: string;
}

export interface ServiceState {
  readonly state: SandboxState;
  readonly sessions: Sessions;
  readonly clock: SandboxClock;
  readonly registry: RegistryScript;
}
