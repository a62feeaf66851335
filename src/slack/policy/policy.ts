import { draftBase, movedUp, withoutRule } from '../../policy/drafts.ts';
import type { PolicyDraft } from '../../policy/ports.ts';
import { STARTING_POINTS } from '../../policy/starting-points.ts';
import { policyToYaml } from '../../policy/yaml.ts';
import { offerCharterLink } from '../approvals/signing/offer-link.ts';
import { type ActionCall, type CommandCall, type Feature, formOrigin, type Interaction } from '../feature.ts';
import type { Message } from '../kit/blocks.ts';
import { formView } from '../kit/form.ts';
import { pageActions } from '../kit/pages.ts';
import { openForm, opening } from '../orders/ordering.ts';
import { SlackApiError } from '../outbound/web.ts';
import { sendFile } from '../send-file.ts';
import { otherAdmins } from '../settings/pending-change-notifications.ts';
import {
  confirmedMessage,
  NOT_CONFIRMED_POLICY,
  NOTES,
  publishedAlreadyNote,
  publishedMessage,
  readRuleValue,
  unknownWordText,
} from './policy.view.ts';
import { plainRuleForm, plainValues, ruleForm, ruleSubject, startForm, yamlForm } from './policy-forms.ts';
import { editDraft, editedRules, pageWith, shownPolicy } from './policy-shown.ts';
import { runReplay, runTrial } from './policy-trial.ts';

/* Who decides what: everybody sees it, admins change a draft, and two of them publish it. */

async function runPolicy(call: CommandCall): Promise<void> {
  const [word, ...rest] = call.words;
  switch (word?.toLowerCase()) {
    case undefined:
      return call.respond(await shownPolicy(call));
    case 'test':
      return runTrial(call, rest);
    case 'replay':
      return runReplay(call, rest);
    default:
      return call.respond(unknownWordText(word ?? ''));
  }
}

/** The form of a rule, with text fields where Slack refuses its pickers. */
async function openRule(call: ActionCall, name: string | undefined): Promise<void> {
  const { rules } = await editedRules(call);
  const rule = rules.find((each) => each.name === name);
  if (name !== undefined && rule === undefined) {
    return call.respond(await shownPolicy(call, { note: NOTES.noRule }), { replace: true });
  }
  const origin = formOrigin(call, rule && ruleSubject(rule));
  try {
    await openForm(call, ruleForm, origin);
  } catch (error) {
    if (!(error instanceof SlackApiError) || error.code !== 'invalid_arguments') throw error;
    call.context.log.warn({ err: error }, 'Slack does not take a rule with its pickers: shown as texts');
    await call.open(
      formView({ form: plainRuleForm, origin, values: plainValues(rule, call.context.currency) }),
    );
  }
}

async function moveUp(call: ActionCall): Promise<void> {
  const { position, name } = readRuleValue(call.value);
  const problem = await editDraft(call, (rules) => {
    const moved = movedUp(rules, position, name);
    return moved === undefined ? { problem: NOTES.noRule } : { rules: moved };
  });
  await showAgain(call, pageWith(position - 2), problem);
}

async function remove(call: ActionCall): Promise<void> {
  const { position, name } = readRuleValue(call.value);
  const problem = await editDraft(call, (rules) => {
    const kept = withoutRule(rules, name);
    return kept === undefined ? { problem: NOTES.noRule } : { rules: kept };
  });
  await showAgain(call, pageWith(position - 1), problem);
}

async function showAgain(call: ActionCall, offset: number, note?: string): Promise<void> {
  const shown = await shownPolicy(call, { offset, ...(note === undefined ? {} : { note }) });
  await call.respond(shown, { replace: true });
}

async function discard(call: ActionCall): Promise<void> {
  const { context, person } = call;
  const isDiscarded = await context.policies.discardDraft(call.value, person.id, context.now());
  if (isDiscarded) context.log.info({ by: person.id }, 'draft of the policy discarded');
  await showAgain(call, 0, isDiscarded ? NOTES.discarded : NOTES.stale);
}

async function publish(call: ActionCall): Promise<void> {
  const { context, person } = call;
  const outcome = await context.policies.publish(call.value, person.id, context.now());
  switch (outcome.kind) {
    case 'stale':
      return showAgain(call, 0, NOTES.stale);
    case 'no_difference':
      return showAgain(call, 0, NOTES.noDifference);
    case 'cannot_sign':
      return showAgain(call, 0, NOTES.cannotSign);
    case 'published_already':
      return showAgain(call, 0, publishedAlreadyNote(outcome.by, person.id));
    case 'published':
      call.acknowledge();
      context.log.info({ by: person.id, revision: call.value }, 'policy published');
      return call.respond(await askToConfirm(call, outcome.draft));
  }
}

/** @returns what the publisher is told */
async function askToConfirm({ context, person }: Interaction, draft: PolicyDraft): Promise<Message> {
  context.notifyDue();
  const [{ rules: before }, locale] = await Promise.all([
    context.policies.current(),
    context.directory.localeOf(person.id),
  ]);
  return publishedMessage({ draft, before, locale }, await otherAdmins(context, person.id));
}

async function confirm(call: ActionCall): Promise<void> {
  const { context, person } = call;
  // Where keys are in use it takes effect with a signature.
  if (context.orders.signing.use !== undefined) return offerCharterLink(call, 'policy', call.value);
  const outcome = await context.policies.confirm(call.value, person.id, context.now());
  switch (outcome.kind) {
    case 'own':
      return call.respond(NOT_CONFIRMED_POLICY.own);
    case 'cannot_sign':
      return call.respond(NOTES.cannotSign);
    case 'not_published':
    case 'stale':
      return call.respond(NOT_CONFIRMED_POLICY.stale);
    case 'confirmed': {
      const { policy, before } = outcome;
      call.acknowledge();
      context.log.info({ by: person.id, version: policy.version }, 'policy confirmed');
      context.notifyDue();
      const locale = await context.directory.localeOf(person.id);
      await call.respond(confirmedMessage(policy, before.rules, locale), { replace: true });
      // What waits may need more by now, and its card says so.
      await context.refreshWaitingCards();
    }
  }
}

async function download(call: ActionCall): Promise<void> {
  const { policies, currency } = call.context;
  const [current, draft] = await Promise.all([policies.current(), policies.draft()]);
  const isDraft = call.value !== 'current' && draft !== undefined;
  const { rules } = isDraft ? draftBase(current, draft) : current;
  await call.respond(
    await sendFile(call, {
      text: policyToYaml(rules, currency),
      filename: `domain-steward-policy-${isDraft ? 'draft' : `version-${current.version}`}.yaml`,
      what: isDraft ? 'The draft of the policy' : `Version ${current.version} of the policy`,
    }),
  );
}

async function start(call: ActionCall): Promise<void> {
  const name = STARTING_POINTS.find((each) => each === call.value);
  if (name !== undefined) await openForm(call, startForm, formOrigin(call, name));
}

export const policy = {
  commands: [
    {
      usage: 'policy [test LINE or replay DAYS]',
      summary: 'Show who decides what, and which rule decides a line; admins change the rules',
      example: '/domain policy test renew cafe.rest 2',
      run: runPolicy,
    },
  ],
  forms: [ruleForm, yamlForm, startForm],
  actions: [
    { id: 'policy_add', run: (call) => openRule(call, undefined) },
    { id: 'policy_edit', run: (call) => openRule(call, readRuleValue(call.value).name) },
    { id: 'policy_up', run: moveUp },
    { id: 'policy_remove', run: remove },
    ...pageActions('policy', (call: ActionCall, { offset }) => showAgain(call, offset)),
    { id: 'policy_discard', run: discard },
    { id: 'policy_publish', run: publish },
    { id: 'policy_confirm', run: confirm },
    { id: 'policy_download', run: download },
    opening('policy_upload', yamlForm),
    { id: 'policy_start', run: start },
  ],
} as const satisfies Feature;
