import type { RedirectRecord } from '../model.ts';
import { Refusal } from '../refusal.ts';
import { looksLikeEmail } from '../rules.ts';
import type { Caller, ServiceState } from './caller.ts';

/** `type` and `mode` are in lower case, as in XML. */
export type RedirectInput = Pick<RedirectRecord, 'source' | 'type' | 'mode' | 'target'> &
  Partial<Pick<RedirectRecord, 'title' | 'backup'>>;

/** The source and type can't be changed (“Redirect update” in the service's API documentation). */
export function updateRedirect(service: ServiceState, caller: Caller, input: RedirectInput): RedirectRecord {
  const { redirects } = service.state.data;
  const index = redirects.findIndex(
    (candidate) =>
      candidate.source === input.source &&
      candidate.context === caller.context &&
      candidate.group === caller.group,
  );
  const redirect = redirects[index];
  if (redirect === undefined) {
    throw new Refusal('not_found', `source: there is no redirect ${input.source} in this account`);
  }
  if (redirect.type !== input.type) {
    throw new Refusal('conflict', `type: ${input.source} is of type ${redirect.type}, which cannot change`);
  }
  checkTarget('target', input.target, input.type);
  if (input.backup !== undefined) checkTarget('backup', input.backup, input.type);
  const updatedRedirect = { ...redirect, ...input, updated: service.clock.registryTime() };
  redirects[index] = updatedRedirect;
  service.state.markChanged();
  return updatedRedirect;
}

function checkTarget(field: string, target: string, type: RedirectInput['type']): void {
  const isValid =
    type === 'email' ? looksLikeEmail(target) : /^(?:https?:\/\/)?[^\s/]+\.[^\s/]+(?:\/\S*)?$/.test(target);
  if (!isValid)
    throw new Refusal('rule', `${field}: "${target}" is not a valid target for a redirect of type ${type}`);
}
