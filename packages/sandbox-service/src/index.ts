export {
  SANDBOX_ACCOUNTS,
  SANDBOX_CONTACTS,
  SANDBOX_NAMESERVERS,
  SANDBOX_TRANSFERABLE_DOMAIN,
} from './accounts.ts';
export type { DnsFault, RecordedQuestion } from './dns/faults.ts';
export { type SandboxDns, type SandboxDnsOptions, startSandboxDns } from './dns/server.ts';
export { type Fault, type FaultKind, isCarriedOut } from './faults.ts';
export type { RecordedRequest } from './recorder.ts';
export type { RegistryPatch } from './registry-script.ts';
export { type SandboxService, type SandboxServiceOptions, startSandboxService } from './server.ts';
export {
  failedMove,
  lapsedDelegation,
  type StoryContext,
  type StoryStep,
  setUpStory,
  theft,
} from './stories.ts';
export type { SandboxTask, ServiceTask } from './tasks.ts';
