import type { BudgetStore } from '../money/ports.ts';
import type { MessagePlace } from '../notifications.ts';
import { refusalOfNonApprover } from '../orders/approval-rights.ts';
import { type ApproverDeps, approvalPolicyOf, readPeople } from '../orders/approvers.ts';
import { implicitRequirement } from '../orders/demand.ts';
import type { Refusal } from '../orders/refusal.ts';
import type { Requirement } from '../policy/evaluate.ts';
import type { PendingChange, PendingChanges } from '../policy/pending-changes.ts';
import { tagOfPattern } from '../policy/policy.ts';
import type { DecidingPolicy } from '../policy/ports.ts';
import { parseDomainName } from '../zones/names.ts';
import { type DetailsChange, decidingTagsChanged, type NameDetails } from './portfolio.ts';
import type { ChangedNames, Decides, FactsChange, ImportPlan, PortfolioStore, Progress } from './ports.ts';

/*
 * Changes of what people set for names. Tags that rules, budgets and mandates name, and `guarded`, decide who lets orders go and who
 * answers an incident, so a change of them waits for a second person who may approve. All that changes for such a name in one
 * edit waits with them; the other names of the edit are changed at once.
 */

export interface FactChangesDeps extends ApproverDeps {
  readonly portfolio: Pick<PortfolioStore, 'change' | 'applyImport' | 'find'>;
  readonly pending: PendingChanges<FactsChange>;
  readonly policy: DecidingPolicy;
  readonly budgets: Pick<BudgetStore, 'list'>;
  /** The tags that mandates in force name. */
  readonly mandateTags: () => Promise<readonly string[]>;
}

/** What became of an edit. */
export interface EditedFacts {
  /** The names that were changed. */
  readonly changed: readonly string[];
  /** What waits for a second person; undefined where nothing decides. */
  readonly waiting: PendingChange<FactsChange> | undefined;
}

/** Why somebody may not confirm or drop a change. */
export type FactsRefusal =
  | { readonly code: 'own_change' }
  /** It was confirmed or dropped before, or nobody confirmed it in time. */
  | { readonly code: 'change_gone' }
  /** A name has changed since it was asked for. The change was dropped. */
  | { readonly code: 'change_stale' }
  | Refusal;

export type DecidedFacts =
  | { readonly ok: true; readonly pending: PendingChange<FactsChange> }
  | { readonly ok: false; readonly refusal: FactsRefusal };

export interface FactChanges {
  /** @param origin where it is asked for, here and below */
  change(changes: ReadonlyMap<string, DetailsChange>, by: string, origin: MessagePlace): Promise<EditedFacts>;
  /** Applies an import that was shown. */
  applyImport(
    hash: string,
    by: string,
    origin: MessagePlace,
    progress: Progress,
  ): Promise<EditedFacts | { readonly stale: ImportPlan } | 'gone'>;
  /** Asks to take a name off the watch list. @returns undefined where its tags decide nothing, so that nobody has to confirm */
  requestUnwatch(
    text: string,
    by: string,
    origin: MessagePlace,
  ): Promise<PendingChange<FactsChange> | undefined>;
  /** What waits. */
  find(id: string): Promise<PendingChange<FactsChange> | undefined>;
  /** Ids of the people and groups who may confirm a change. */
  approversOf(pending: PendingChange<FactsChange>): Promise<readonly string[]>;
  /** A second person who may approve confirms a change: it takes effect. */
  confirm(id: string, by: string): Promise<DecidedFacts>;
  /** Who asked, or who may approve, drops a change. */
  dismiss(id: string, by: string): Promise<DecidedFacts>;
}

/** Joins the portfolio with who decides. */
export function createFactChanges(deps: FactChangesDeps): FactChanges {
  const { portfolio, pending, now } = deps;

  /** The tags that rules, budgets and mandates name. */
  async function decidingTags(): Promise<ReadonlySet<string>> {
    const [{ tags }, budgets, ofMandates] = await Promise.all([
      deps.policy.current(),
      deps.budgets.list(),
      deps.mandateTags(),
    ]);
    return new Set([...tags, ...budgets.flatMap(({ tag }) => tag ?? []), ...ofMandates]);
  }

  async function decides(): Promise<Decides> {
    const deciding = await decidingTags();
    return (before, after) => decidingTagsChanged(before.tags, after.tags, deciding).length > 0;
  }

  async function request(names: FactsChange['names'], by: string, origin: MessagePlace) {
    const at = now();
    const { approvalTtl } = await deps.settings();
    return pending.request({ names }, by, at, new Date(at.getTime() + approvalTtl), origin);
  }

  async function edited(names: ChangedNames, by: string, origin: MessagePlace): Promise<EditedFacts> {
    const { changed, deciding } = names;
    return { changed, waiting: deciding.length === 0 ? undefined : await request(deciding, by, origin) };
  }

  /** Those of the settings may confirm, and whoever approves by a rule that goes by one of the tags. */
  async function requirementsOf({ change }: PendingChange<FactsChange>): Promise<readonly Requirement[]> {
    const [settings, { version, rules }] = await Promise.all([deps.settings(), deps.policy.current()]);
    const names = change.names.map(({ name }) => name);
    const tags = new Set(change.names.flatMap(({ before, after }) => changedTags(before, after)));
    const ofRules = rules.flatMap(({ name, names: patterns, needed, approvers }, index): Requirement[] =>
      approvers.length > 0 && patterns.some((pattern) => tags.has(tagOfPattern(pattern) ?? ''))
        ? [{ rule: { kind: 'rule', version, index, name }, names, needed, approvers, signed: false }]
        : [],
    );
    return [implicitRequirement(settings, names), ...ofRules];
  }

  async function refusalOfPerson(
    waiting: PendingChange<FactsChange>,
    userId: string,
  ): Promise<Refusal | undefined> {
    const at = now();
    const [settings, away, requirements] = await Promise.all([
      deps.settings(),
      deps.standIns.current(at),
      requirementsOf(waiting),
    ]);
    const known = await readPeople({ ...deps, away, at }, requirements, [userId]);
    const question = { requirements, requesters: new Set([waiting.askedBy]), userIds: [userId] };
    return refusalOfNonApprover(approvalPolicyOf(question, known, settings, at), userId, 'confirm_facts');
  }

  return {
    async change(changes, by, origin) {
      return edited(await portfolio.change(changes, by, now(), await decides()), by, origin);
    },

    async applyImport(hash, by, origin, progress) {
      const outcome = await portfolio.applyImport(hash, by, now(), await decides(), progress);
      return outcome === 'gone' || 'stale' in outcome ? outcome : edited(outcome, by, origin);
    },

    async requestUnwatch(text, by, origin) {
      const parsed = parseDomainName(text);
      if (!parsed.ok) return undefined;
      const name = parsed.value.ascii;
      const [before, deciding] = await Promise.all([portfolio.find(name), decidingTags()]);
      if (before === undefined || decidingTagsChanged(before.tags, [], deciding).length === 0)
        return undefined;
      return request([{ name, before, after: undefined }], by, origin);
    },

    find: (id) => pending.find(id, now()),

    approversOf: async (waiting) => [
      ...new Set((await requirementsOf(waiting)).flatMap(({ approvers }) => approvers)),
    ],

    async confirm(id, by) {
      const waiting = await pending.find(id, now());
      if (waiting === undefined) return { ok: false, refusal: { code: 'change_gone' } };
      if (waiting.askedBy === by) return { ok: false, refusal: { code: 'own_change' } };
      const refusal = await refusalOfPerson(waiting, by);
      if (refusal !== undefined) return { ok: false, refusal };
      const outcome = await pending.confirm(id, by, now());
      return outcome.kind === 'confirmed'
        ? { ok: true, pending: outcome.pending }
        : { ok: false, refusal: { code: outcome.kind === 'stale' ? 'change_stale' : 'change_gone' } };
    },

    async dismiss(id, by) {
      const waiting = await pending.find(id, now());
      const refusal = waiting && waiting.askedBy !== by ? await refusalOfPerson(waiting, by) : undefined;
      if (refusal !== undefined) return { ok: false, refusal };
      const dropped = await pending.dismiss(id, by, now());
      return dropped === undefined
        ? { ok: false, refusal: { code: 'change_gone' } }
        : { ok: true, pending: dropped };
    },
  };
}

function changedTags(before: NameDetails, after: NameDetails | undefined): string[] {
  const [was, is] = [before.tags, after?.tags ?? []];
  return [...was.filter((tag) => !is.includes(tag)), ...is.filter((tag) => !was.includes(tag))];
}
