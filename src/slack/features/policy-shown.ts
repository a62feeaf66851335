import { policySettings } from '../../orders/demand.ts';
import { draftBase } from '../../policy/drafts.ts';
import type { PolicyRule } from '../../policy/policy.ts';
import { type Interaction, isAdmin } from '../feature.ts';
import type { Message } from '../views/blocks.ts';
import { policyMessage, RULES_ON_PAGE } from '../views/policy.ts';

/*
 * The policy as it stands, and changes of its draft.
 */

/** What to show of the policy. */
export interface Shown {
  /** From 0. */
  readonly page?: number;
  /** Said first: what became of what the reader has just done. */
  readonly note?: string;
}

/** The policy as one person sees it at this moment. */
export async function shownPolicy(
  { deps, person }: Interaction,
  { page = 0, note }: Shown = {},
): Promise<Message> {
  const [published, draft, settings, locale] = await Promise.all([
    deps.policies.published(),
    deps.policies.draft(),
    deps.settings(),
    deps.directory.localeOf(person.id),
  ]);
  const reader = { userId: person.id, isAdmin: isAdmin(deps, person), locale };
  return policyMessage({ published, draft, settings: policySettings(settings), reader, page, note });
}

/** The page that shows a rule. @param index from 0 */
export function pageOf(index: number): number {
  return Math.floor(Math.max(0, index) / RULES_ON_PAGE);
}

/** The rules that a change starts from. */
export async function editedRules({ deps }: Interaction) {
  const [current, draft] = await Promise.all([deps.policies.current(), deps.policies.draft()]);
  return draftBase(current, draft);
}

/** Somebody else's changes may come in between so often before a change is given up. */
const MAX_ATTEMPTS = 5;

/** What a change makes of rules, or why it cannot be made any more. */
export type Edit<Problem> = { readonly rules: readonly PolicyRule[] } | { readonly problem: Problem };

/**
 * Changes the draft, or begins one. A change that came in between is kept, and this one is made anew on it.
 * @returns what kept it from being made; undefined when it is saved
 */
export async function editDraft<Problem>(
  call: Interaction,
  edit: (rules: readonly PolicyRule[]) => Edit<Problem>,
): Promise<Problem | undefined> {
  const { deps, person } = call;
  for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt += 1) {
    const base = await editedRules(call);
    const edited = edit(base.rules);
    if ('problem' in edited) return edited.problem;
    const saved = await deps.policies.saveDraft(edited.rules, base.revision, person.id, deps.now());
    if (saved === undefined) continue;
    deps.log.info({ by: person.id, revision: saved.revision }, 'draft of the policy changed');
    return undefined;
  }
  throw new Error('the draft of the policy was changed by others all the time');
}
