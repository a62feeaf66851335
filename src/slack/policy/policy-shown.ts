import { policySettings } from '../../approvals/requirements.ts';
import { draftBase } from '../../policy/drafts.ts';
import type { PolicyRule } from '../../policy/policy.ts';
import { charterNotice } from '../approvals/signing/charter.view.ts';
import { type Interaction, isAdmin } from '../feature.ts';
import type { Message } from '../kit/blocks.ts';
import { policyMessage, RULES_ON_PAGE } from './policy.view.ts';

/* Shows the policy, and changes its draft. */

/** The part of the policy to show. */
export interface Shown {
  /** The number of rules before the page. */
  readonly offset?: number;
  /** Said first: the outcome of the reader's last action. */
  readonly note?: string;
}

/** The policy as one person sees it at this moment. */
export async function shownPolicy(
  { context, person }: Interaction,
  { offset = 0, note }: Shown = {},
): Promise<Message> {
  const [published, draft, settings, inForce, locale] = await Promise.all([
    context.policies.published(),
    context.policies.draft(),
    context.savedSettings(),
    context.orders.policy.current(),
    context.directory.localeOf(person.id),
  ]);
  const reader = { userId: person.id, isAdmin: isAdmin(context, person), locale };
  return policyMessage({
    ...{ published, draft, reader, offset, note },
    settings: policySettings(settings, inForce),
    notice: charterNotice(inForce),
  });
}

/** Where the page of a rule begins. @param index from 0 */
export function pageWith(index: number): number {
  return Math.floor(Math.max(0, index) / RULES_ON_PAGE) * RULES_ON_PAGE;
}

/** The rules that a change starts from. */
export async function editedRules({ context }: Interaction) {
  const [current, draft] = await Promise.all([context.policies.current(), context.policies.draft()]);
  return draftBase(current, draft);
}

/** A change is given up after this many changes by somebody else in between. */
const MAX_ATTEMPTS = 5;

/** The rules after a change, or why the change is no longer possible. */
export type Edit<Problem> = { readonly rules: readonly PolicyRule[] } | { readonly problem: Problem };

/**
 * Changes the draft, or begins one. If somebody else changes it in between, their change is kept and this
 * one is applied to it.
 * @returns why it could not be made; undefined when it is saved
 */
export async function editDraft<Problem>(
  call: Interaction,
  edit: (rules: readonly PolicyRule[]) => Edit<Problem>,
): Promise<Problem | undefined> {
  const { context, person } = call;
  for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt += 1) {
    const base = await editedRules(call);
    const edited = edit(base.rules);
    if ('problem' in edited) return edited.problem;
    const saved = await context.policies.saveDraft(edited.rules, base.revision, person.id, context.now());
    if (saved === undefined) continue;
    context.log.info({ by: person.id, revision: saved.revision }, 'draft of the policy changed');
    return undefined;
  }
  throw new Error('the draft of the policy kept changing');
}
