import { getDraftBase, moveRuleUp, removeRule } from '../../policy/drafts.ts';
import { STARTING_POINT_NAMES } from '../../policy/starting-points.ts';
import { formatPolicyYaml } from '../../policy/yaml.ts';
import { type ActionCall, type CommandCall, type Feature, toFormOrigin } from '../feature.ts';
import { formView } from '../kit/form.ts';
import { createPageActions } from '../kit/pages.ts';
import { createOpenFormAction, openForm } from '../open-form.ts';
import { SlackApiError } from '../outbound/web.ts';
import { listOtherAdmins } from '../proposals/proposal-notifications.ts';
import { confirmProposal } from '../proposals/proposals.ts';
import { sendFile } from '../send-file.ts';
import {
  alreadyPublishedNote,
  NOTES,
  parseRuleButtonValue,
  publishedMessage,
  unknownSubcommandText,
} from './policy.view.ts';
import {
  getRuleSubject,
  plainRuleForm,
  ruleForm,
  startForm,
  toPlainRuleValues,
  yamlForm,
} from './policy-forms.ts';
import { runPolicyTest, runReplay } from './policy-preview.ts';
import { buildPolicyMessage, editDraft, getPageOffset, loadDraftBase } from './policy-shown.ts';

/* The policy. Everyone can see it. Admins can edit a draft, and two admins are needed to publish it. */

async function runPolicy(call: CommandCall): Promise<void> {
  const [word, ...rest] = call.words;
  switch (word?.toLowerCase()) {
    case undefined:
      return call.respond(await buildPolicyMessage(call));
    case 'test':
      return runPolicyTest(call, rest);
    case 'replay':
      return runReplay(call, rest);
    default:
      return call.respond(unknownSubcommandText(word ?? ''));
  }
}

/** Opens the form of a rule. If Slack refuses the pickers, the form has text fields. */
async function openRuleForm(call: ActionCall, name: string | undefined): Promise<void> {
  const { rules } = await loadDraftBase(call);
  const rule = rules.find((candidate) => candidate.name === name);
  if (name !== undefined && rule === undefined) {
    return call.respond(await buildPolicyMessage(call, { note: NOTES.noRule }), { replace: true });
  }
  const origin = toFormOrigin(call, rule && getRuleSubject(rule));
  try {
    await openForm(call, ruleForm, origin);
  } catch (error) {
    if (!(error instanceof SlackApiError) || error.code !== 'invalid_arguments') throw error;
    call.context.log.warn(
      { err: error },
      'Slack refused the rule’s pickers, opening a form with text fields',
    );
    await call.open(
      formView({ form: plainRuleForm, origin, values: toPlainRuleValues(rule, call.context.currency) }),
    );
  }
}

async function moveRuleUpInDraft(call: ActionCall): Promise<void> {
  const { position, name } = parseRuleButtonValue(call.value);
  const problem = await editDraft(call, (rules) => {
    const reorderedRules = moveRuleUp(rules, position, name);
    return reorderedRules === undefined ? { problem: NOTES.noRule } : { rules: reorderedRules };
  });
  await showUpdatedPolicy(call, getPageOffset(position - 2), problem);
}

async function removeRuleFromDraft(call: ActionCall): Promise<void> {
  const { position, name } = parseRuleButtonValue(call.value);
  const problem = await editDraft(call, (rules) => {
    const remainingRules = removeRule(rules, name);
    return remainingRules === undefined ? { problem: NOTES.noRule } : { rules: remainingRules };
  });
  await showUpdatedPolicy(call, getPageOffset(position - 1), problem);
}

async function showUpdatedPolicy(call: ActionCall, offset: number, note?: string): Promise<void> {
  await call.respond(await buildPolicyMessage(call, { offset, note }), { replace: true });
}

async function discardDraft(call: ActionCall): Promise<void> {
  const { context, person } = call;
  const wasDiscarded = await context.policies.discardDraft(call.value, person.id, context.now());
  if (wasDiscarded) context.log.info({ by: person.id }, 'draft of the policy discarded');
  await showUpdatedPolicy(call, 0, wasDiscarded ? NOTES.discarded : NOTES.stale);
}

async function publishDraft(call: ActionCall): Promise<void> {
  const { context, person } = call;
  const outcome = await context.policies.publish(call.value, person.id, context.now());
  switch (outcome.kind) {
    case 'stale':
      return showUpdatedPolicy(call, 0, NOTES.stale);
    case 'no_difference':
      return showUpdatedPolicy(call, 0, NOTES.noDifference);
    case 'cannot_sign':
      return showUpdatedPolicy(call, 0, NOTES.cannotSign);
    case 'already_published':
      return showUpdatedPolicy(call, 0, alreadyPublishedNote(outcome.proposer, person.id));
    case 'published':
      call.acknowledge();
      context.log.info({ by: person.id, revision: call.value }, 'policy published');
      context.notifyDue();
      return call.respond(
        publishedMessage(
          outcome.proposal.payload,
          await context.directory.findLocale(person.id),
          await listOtherAdmins(context, person.id),
        ),
      );
  }
}

async function downloadPolicy(call: ActionCall): Promise<void> {
  const { policies, currency } = call.context;
  const [current, draft] = await Promise.all([policies.loadCurrentPolicy(), policies.findDraft()]);
  const isDraft = call.value !== 'current' && draft !== undefined;
  const { rules } = isDraft ? getDraftBase(current, draft) : current;
  await call.respond(
    await sendFile(call, {
      text: formatPolicyYaml(rules, currency),
      filename: `domain-steward-policy-${isDraft ? 'draft' : `version-${current.version}`}.yaml`,
      description: isDraft ? 'The draft of the policy' : `Version ${current.version} of the policy`,
    }),
  );
}

async function openStartingPointForm(call: ActionCall): Promise<void> {
  const name = STARTING_POINT_NAMES.find((startingPoint) => startingPoint === call.value);
  if (name !== undefined) await openForm(call, startForm, toFormOrigin(call, name));
}

export const policy = {
  commands: [
    {
      usage: 'policy [test LINE or replay DAYS]',
      summary: 'Show and test the rules for approvals; admins can change them',
      example: '/domain policy test renew cafe.rest 2',
      run: runPolicy,
    },
  ],
  forms: [ruleForm, yamlForm, startForm],
  actions: [
    { id: 'policy_add', run: (call) => openRuleForm(call, undefined) },
    { id: 'policy_edit', run: (call) => openRuleForm(call, parseRuleButtonValue(call.value).name) },
    { id: 'policy_up', run: moveRuleUpInDraft },
    { id: 'policy_remove', run: removeRuleFromDraft },
    ...createPageActions('policy', (call: ActionCall, { offset }) => showUpdatedPolicy(call, offset)),
    { id: 'policy_discard', run: discardDraft },
    { id: 'policy_publish', run: publishDraft },
    { id: 'policy_confirm', run: (call) => confirmProposal(call, ['policy']) },
    { id: 'policy_download', run: downloadPolicy },
    createOpenFormAction('policy_upload', yamlForm),
    { id: 'policy_start', run: openStartingPointForm },
  ],
} as const satisfies Feature;
