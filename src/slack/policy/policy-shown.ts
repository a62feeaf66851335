import { toPolicySettings } from '../../approvals/requirements.ts';
import { getDraftBase } from '../../policy/drafts.ts';
import type { PolicyRule } from '../../policy/policy.ts';
import { charterNotice } from '../approvals/signing/charter.view.ts';
import { type Interaction, isAdmin } from '../feature.ts';
import type { Message } from '../kit/blocks.ts';
import { policyMessage, RULES_PER_PAGE } from './policy.view.ts';

export interface PolicyPageOptions {
  readonly offset?: number;
  /** The outcome of the reader's last action, which is shown first. */
  readonly note?: string | undefined;
}

export async function buildPolicyMessage(
  { context, person }: Interaction,
  { offset = 0, note }: PolicyPageOptions = {},
): Promise<Message> {
  const [published, draft, settings, effectivePolicy, locale] = await Promise.all([
    context.policies.findPublished(),
    context.policies.findDraft(),
    context.loadSettings(),
    context.orders.policy.loadCurrentPolicy(),
    context.directory.findLocale(person.id),
  ]);
  const reader = { userId: person.id, isAdmin: isAdmin(context, person), locale };
  const policySettings = toPolicySettings(settings, effectivePolicy);
  const notice = charterNotice(effectivePolicy);
  return policyMessage({
    published,
    draft,
    settings: policySettings,
    reader,
    charterNotice: notice,
    offset,
    note,
  });
}

/**
 * @param index of the rule, from 0
 * @returns the offset of the page with the rule
 */
export function getPageOffset(index: number): number {
  return Math.floor(Math.max(0, index) / RULES_PER_PAGE) * RULES_PER_PAGE;
}

export async function loadDraftBase({ context }: Interaction) {
  const [current, draft] = await Promise.all([
    context.policies.loadCurrentPolicy(),
    context.policies.findDraft(),
  ]);
  return getDraftBase(current, draft);
}

/** Gives up after this many concurrent edits. */
const MAX_ATTEMPTS = 5;

export type DraftEditResult<Problem> =
  | { readonly rules: readonly PolicyRule[] }
  | { readonly problem: Problem };

/**
 * Edits the draft, or creates one. Concurrent edits are kept, and this edit is applied to their result.
 * @returns the problem; undefined if the draft was saved
 */
export async function editDraft<Problem>(
  interaction: Interaction,
  edit: (rules: readonly PolicyRule[]) => DraftEditResult<Problem>,
): Promise<Problem | undefined> {
  const { context, person } = interaction;
  for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt += 1) {
    const base = await loadDraftBase(interaction);
    const result = edit(base.rules);
    if ('problem' in result) return result.problem;
    const savedDraft = await context.policies.saveDraft(
      result.rules,
      base.revision,
      person.id,
      context.now(),
    );
    if (savedDraft === undefined) continue;
    context.log.info({ by: person.id, revision: savedDraft.revision }, 'draft of the policy changed');
    return undefined;
  }
  throw new Error('the draft of the policy kept changing');
}
