import { describe, expect, test } from 'vitest';
import {
  type BotSigner,
  buildCharter,
  buildPreviousField,
  buildRulesWithSigning,
  type CharterStatus,
  evaluateCharter,
  findLastValidCharter,
  formatCharterText,
  type LoggedCharter,
  type PolicyAndSettings,
  type ProtectedSettings,
} from '../../src/approvals/charter.ts';
import { type CharterChallenge, hashJson } from '../../src/approvals/signing/assertion.ts';
import {
  getRootFingerprints,
  newKeyLog,
  newNonce,
  newSigner,
  type Signer,
  signRevocation,
  VERIFIER,
} from '../approvals/signing/sample.ts';
import { newPolicyRule } from '../policy/sample.ts';
import { newTeamSettings } from '../support/settings.ts';

const botSigner: BotSigner = {
  sign: (text) => `bot ${text}`,
  verify: (text, signature) => signature === `bot ${text}`,
};
const SETTINGS: ProtectedSettings = {
  approvers: ['U0BOB'],
  silentApprovers: [],
  approvalsRequired: 1,
  approvalTasks: ['renew'],
  allowSelfApproval: false,
};
const newRules = (
  version: number,
  settings: Partial<ProtectedSettings> = {},
  tag = 'brand',
): PolicyAndSettings => ({
  policy: { version, rules: [newPolicyRule({ names: [`tag:${tag}`] })] },
  settings: { ...SETTINGS, ...settings },
});
const anna = newSigner('U0ANNA');
const bob = newSigner('U0BOB');
const log = newKeyLog([anna, bob], [[anna, bob]]);
const trust = { roots: getRootFingerprints(anna), verifier: VERIFIER, botSigner };

/** Creates a valid charter that follows `last`, with the given changes. */
function newCharter(
  rules: PolicyAndSettings,
  last: LoggedCharter | undefined,
  overrides: Partial<LoggedCharter> & { readonly signer?: Signer; readonly previous?: string } = {},
): LoggedCharter {
  const { signer = bob, previous, ...changes } = overrides;
  const hash = hashJson(buildCharter(rules, 'U0ADA'));
  const challenge: CharterChallenge = {
    ...{ by: signer.owner, charter: hash, decision: 'publish' as const, nonce: newNonce() },
    ...(previous === undefined ? buildPreviousField(last) : { previous }),
  };
  const signature = signer.authenticator.assert(challenge);
  return {
    ...{ eventIndex: 10, rules, hash, publisher: 'U0ADA', signature },
    botSignature: botSigner.sign(formatCharterText(challenge)),
    ...changes,
  };
}

describe('a charter', () => {
  const first = newCharter(newRules(1), undefined);
  const second = newCharter(newRules(2), first);
  const unsigned = { ...second.signature, signature: first.signature.signature };

  test('is valid if it is signed by an admin’s key and names the previous one', async () => {
    expect(await findLastValidCharter({ keys: log, charters: [first, second] }, trust)).toBe(second);
  });

  test.each<[string, LoggedCharter]>([
    ['it names no previous charter', newCharter(newRules(2), undefined)],
    ['it names another previous charter', newCharter(newRules(2), first, { previous: hashJson('other') })],
    ['its content can’t be read', newCharter(newRules(2), first, { rules: undefined })],
    ['its content differs from what was signed', newCharter(newRules(2), first, { hash: first.hash })],
    ['its publisher signed it', newCharter(newRules(2), first, { publisher: 'U0BOB' })],
    ['the bot didn’t sign it', newCharter(newRules(2), first, { botSignature: undefined })],
    ['the bot signed another charter', newCharter(newRules(2), first, { botSignature: first.botSignature })],
    ['nobody vouched for the key', newCharter(newRules(2), first, { signer: newSigner('U0EVE') })],
    ['its signature is another charter’s', { ...second, signature: unsigned }],
  ])('is invalid if %s, so the previous one is the last valid one', async (_, newest) => {
    expect(await findLastValidCharter({ keys: log, charters: [first, newest] }, trust)).toBe(first);
  });

  test('is invalid if the bot has no key', async () => {
    expect(
      await findLastValidCharter({ keys: log, charters: [first] }, { ...trust, botSigner: undefined }),
    ).toBe(undefined);
  });

  test.each<[string, number, 'retired' | 'compromised', boolean]>([
    ['is valid if its key was retired later', 11, 'retired', true],
    ['is valid if its key was retired with it', 10, 'retired', true],
    ['is invalid if its key was retired before', 9, 'retired', false],
    ['is invalid if its key was compromised later', 11, 'compromised', false],
  ])('%s', async (_, n, reason, isValid) => {
    const revocation = { key: bob.authenticator.fingerprint, by: 'U0BOB', at: new Date(), eventIndex: n };
    const keys = { ...log, revocations: [{ ...revocation, signature: signRevocation(bob, bob, reason) }] };
    expect(await findLastValidCharter({ keys, charters: [first] }, trust)).toBe(isValid ? first : undefined);
  });
});

describe('the charter’s status', () => {
  const first = newCharter(newRules(1), undefined);
  const second = newCharter(newRules(2), first);
  const incompleteLog = { ...log, isComplete: false };
  type Invalid = readonly [problem: string, last: number];
  test.each<
    [
      string,
      readonly LoggedCharter[],
      typeof log,
      PolicyAndSettings,
      LoggedCharter | undefined,
      string | Invalid,
    ]
  >([
    ['nothing was ever signed', [], log, newRules(3), undefined, 'none'],
    ['the newest is valid and matches the rows', [first, second], log, newRules(2), second, 'valid'],
    [
      'an event is missing without charters',
      [],
      incompleteLog,
      newRules(3),
      undefined,
      ['events_missing', 3],
    ],
    ['an event is missing', [first, second], incompleteLog, newRules(2), second, ['events_missing', 2]],
    ['only an older one is valid', [first, second], log, newRules(2), first, ['not_signed', 1]],
    ['none is valid', [first, second], log, newRules(3), undefined, ['not_signed', 2]],
    ['the rows have another version', [first], log, newRules(2), first, ['rows_differ', 1]],
    ['the rows have another rule', [first], log, newRules(1, {}, 'other'), first, ['rows_differ', 1]],
    ...(
      [
        { approvers: ['U0EVE'] },
        { approvalsRequired: 2 },
        { approvalTasks: [] },
        { allowSelfApproval: true },
      ] satisfies Partial<ProtectedSettings>[]
    ).map(
      (
        changed,
      ): [string, readonly LoggedCharter[], typeof log, PolicyAndSettings, LoggedCharter, Invalid] => [
        `the rows have another ${Object.keys(changed)}`,
        ...([[first], log, newRules(1, changed), first, ['rows_differ', 1]] as const),
      ],
    ),
  ])('is evaluated when %s', (_, charters, keys, rows, lastValidCharter, expected) => {
    const status = evaluateCharter({ keys, charters }, rows, lastValidCharter);
    expect(
      status.kind === 'invalid' ? [status.problem, status.lastRules.policy.version] : status.kind,
    ).toEqual(expected);
  });
});

describe('the effective policy and settings', () => {
  const environment: ProtectedSettings = {
    approvers: ['U0ENV'],
    silentApprovers: [],
    approvalsRequired: 2,
    approvalTasks: ['delete'],
    allowSelfApproval: false,
  };
  const rows = {
    ...newRules(3, { approvers: ['U0ROW'] }, 'row'),
    settings: newTeamSettings({ approvers: ['U0ROW'] }),
  };
  const invalid = (lastRules: PolicyAndSettings): CharterStatus => ({
    kind: 'invalid',
    problem: 'rows_differ',
    lastRules,
  });

  test('come from the environment before the first charter, with the policy’s tags', () => {
    const { settings, policy } = buildRulesWithSigning(rows, environment, { kind: 'none' });
    expect(settings).toMatchObject(environment);
    expect(policy).toEqual({
      version: 0,
      rules: [],
      isCharterMissing: true,
      tags: ['row'],
      charterProblem: undefined,
    });
  });

  test('combine the last signed charter, the environment and all tags while none is valid', () => {
    const { settings, policy } = buildRulesWithSigning(rows, environment, invalid(newRules(2)));
    expect(settings).toMatchObject(SETTINGS);
    expect(policy).toEqual({
      ...newRules(2).policy,
      isCharterMissing: false,
      tags: ['brand', 'row'],
      charterProblem: {
        problem: 'rows_differ',
        environment: { approvers: ['U0ENV'], silent: [], needed: 2, tasks: ['delete'] },
      },
    });
  });

  test.each([
    [true, true],
    [true, false],
    [false, true],
  ])(
    'allow self-approval only if the charter (%s) and the environment (%s) do',
    (isAllowedByCharter, isAllowedByEnvironment) => {
      const { settings } = buildRulesWithSigning(
        { ...rows, settings: { ...rows.settings, allowSelfApproval: true } },
        { ...environment, allowSelfApproval: isAllowedByEnvironment },
        invalid(newRules(2, { allowSelfApproval: isAllowedByCharter })),
      );
      expect(settings.allowSelfApproval).toBe(isAllowedByCharter && isAllowedByEnvironment);
    },
  );
});
