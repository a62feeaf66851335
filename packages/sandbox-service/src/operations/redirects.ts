import type { RedirectRecord } from '../model.ts';
import { Refusal } from '../refusal.ts';
import { looksLikeEmail } from '../rules.ts';
import type { Caller, ServiceState } from './caller.ts';

/** Values as the sandbox stores them: in lower case, as in XML. */
export type RedirectInput = Pick<RedirectRecord, 'source' | 'type' | 'mode' | 'target'> &
  Partial<Pick<RedirectRecord, 'title' | 'backup'>>;

/** Changes a redirect, except its source and type (service API, Redirect update). */
export function updateRedirect(service: ServiceState, caller: Caller, input: RedirectInput): RedirectRecord {
  const { redirects } = service.state.data;
  const index = redirects.findIndex(
    (one) => one.source === input.source && one.context === caller.context && one.group === caller.group,
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
  const updated = { ...redirect, ...input, updated: service.clock.registry() };
  redirects[index] = updated;
  service.state.changed();
  return updated;
}

function checkTarget(field: string, target: string, type: RedirectInput['type']): void {
  const fits =
    type === 'email' ? looksLikeEmail(target) : /^(?:https?:\/\/)?[^\s/]+\.[^\s/]+(?:\/\S*)?$/.test(target);
  if (!fits)
    throw new Refusal('rule', `${field}: "${target}" is not an address for a redirect of type ${type}`);
}
