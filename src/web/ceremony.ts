import {
  type AuthenticationResponseJSON,
  generateRegistrationOptions,
  type PublicKeyCredentialCreationOptionsJSON,
  type PublicKeyCredentialRequestOptionsJSON,
  type RegistrationResponseJSON,
  verifyRegistrationResponse,
} from '@simplewebauthn/server';
import { z } from 'zod';
import {
  approveWithSignature,
  checkCanApprove,
  recordRefusalShown,
  resumeOrder,
} from '../approvals/approve.ts';
import {
  buildCharter,
  buildPreviousField,
  formatCharterText,
  type LoggedCharter,
  type PolicyAndSettings,
} from '../approvals/charter.ts';
import { buildSignedSubject } from '../approvals/order-signing.ts';
import type { ProposalOf } from '../approvals/proposals/proposal.ts';
import type { ProposalOutcome, Proposals } from '../approvals/proposals/proposals.ts';
import { buildChallenge } from '../approvals/signing/approval.ts';
import {
  type Assertion,
  type Challenge,
  createVerifier,
  encodeChallenge,
  hashJson,
  type RelyingParty,
} from '../approvals/signing/assertion.ts';
import {
  type AddedKey,
  createRevocationCheck,
  isAtKeyLimit,
  type KeyLog,
  type KeyRing,
  type ValidKey,
} from '../approvals/signing/key-ring.ts';
import type { KeyStore, LinkStore, SignedCharter, SigningLink } from '../approvals/signing/ports.ts';
import {
  ACCEPTED_ALGORITHMS,
  computeFingerprint,
  coseToSpki,
  type Fingerprint,
} from '../approvals/signing/public-key.ts';
import { MINUTE_MS } from '../lib/duration.ts';
import type { FactsProposal } from '../names/protected-changes.ts';
import { isPaused } from '../orders/bulk/waves.ts';
import type { OrdersContext } from '../orders/context.ts';
import type { Order } from '../orders/order.ts';
import type { Refusal } from '../orders/refusal.ts';
import { type ServiceEndpoints, verifyStatement } from '../orders/statement.ts';
import type { Statement } from '../orders/statement-shape.ts';
import { loadVisibleOrder } from '../orders/visibility.ts';
import { getSignedVersion } from '../policy/policy.ts';
import type { PolicyStore } from '../policy/ports.ts';
import { hashToken } from './links.ts';

/**
 * A ceremony is one person's use of a signing link. The content to sign is built when the page is opened, and again
 * when the signature arrives. Opening the page doesn't use up the link; a valid signature does.
 */

export interface CeremonyDeps {
  readonly links: LinkStore;
  readonly keys: KeyStore;
  readonly relyingParty: RelyingParty;
  readonly orders: OrdersContext & { readonly serviceEndpoints: ServiceEndpoints };
  readonly policies: PolicyStore;
  readonly proposals: Proposals;
  readonly loadSavedSettings: () => Promise<Readonly<Record<string, unknown>>>;
  readonly applySavedSettings: (
    savedSettings: Readonly<Record<string, unknown>>,
  ) => PolicyAndSettings['settings'];
  /** Called after the policy or the settings may have changed. */
  readonly onPolicyOrSettingsChanged: () => void;
  readonly now: () => Date;
}

/** Why signing isn't possible. */
export type SigningProblem =
  | {
      readonly code:
        | LinkProblem
        | 'own_change'
        | 'not_an_admin'
        | 'gone'
        | 'no_key'
        | 'key_unknown'
        | 'may_not_revoke'
        | 'too_many_keys'
        | 'no_bot_signer'
        | 'beyond_limit';
    }
  | { readonly code: 'not_signed' | 'changed' | 'counter' | 'key_taken' | 'unreadable' | 'registration' }
  | { readonly code: 'refused'; readonly refusal: Refusal };
type LinkProblem = 'unknown_link' | 'link_expired' | 'link_spent';

export type SigningContent = { readonly userId: string } & (
  | { readonly kind: 'order'; readonly order: Order; readonly statement: Statement }
  | { readonly kind: 'facts'; readonly proposal: FactsProposal; readonly hash: string }
  | ({ readonly kind: 'charter' } & ReturnType<typeof buildCharter>)
  | { readonly kind: 'vouch' | 'revoke' | 'revoke_compromised'; readonly key: AddedKey }
);

export type SigningPage =
  | {
      readonly kind: 'sign';
      readonly content: SigningContent;
      readonly options: PublicKeyCredentialRequestOptionsJSON;
    }
  | {
      readonly kind: 'add';
      readonly userId: string;
      /** Whether no key is valid yet, so that the new key may become a root. */
      readonly isFirstKey: boolean;
      readonly options: PublicKeyCredentialCreationOptionsJSON;
    };

export type CeremonyResult =
  | { readonly kind: 'signed' | 'vouched' | 'revoked' }
  | { readonly kind: 'added'; readonly fingerprint: Fingerprint };

export interface Ceremonies {
  open(token: string): Promise<SigningPage | SigningProblem>;
  finish(token: string, body: unknown): Promise<CeremonyResult | SigningProblem>;
}

const AUTHENTICATOR_TIMEOUT_MS = 5 * MINUTE_MS;

const textSchema = z.string().max(16_384);
const assertionBodySchema = z.object({
  id: textSchema,
  response: z.object({
    authenticatorData: textSchema,
    clientDataJSON: textSchema,
    signature: textSchema,
  }),
});
const registrationBodySchema = z.object({
  label: z.string().trim().max(60),
  registration: z.object({
    id: textSchema,
    rawId: textSchema,
    type: z.literal('public-key'),
    response: z.object({ clientDataJSON: textSchema, attestationObject: textSchema }),
  }),
});

interface SigningTask {
  readonly content: SigningContent;
  readonly challenge: Challenge;
  readonly complete: (assertion: Assertion, key: ValidKey) => Promise<CeremonyResult | SigningProblem>;
}

export function isProblem(
  result: SigningPage | CeremonyResult | SigningProblem | SigningTask,
): result is SigningProblem {
  return 'code' in result;
}

export function createCeremonies(deps: CeremonyDeps): Ceremonies {
  const { relyingParty, now } = deps;
  const verifier = createVerifier(relyingParty);

  async function findUsableLink(token: string): Promise<SigningLink | SigningProblem> {
    const link = await deps.links.find(hashToken(token));
    if (link === undefined) return { code: 'unknown_link' };
    if (link.isSpent) return { code: 'link_spent' };
    return link.expiresAt <= now() ? { code: 'link_expired' } : link;
  }

  return {
    async open(token) {
      const link = await findUsableLink(token);
      if ('code' in link) return link;
      const { log, ring, charters } = await deps.orders.signing.loadKeys();
      if (link.purpose === 'add') return buildAddPage(deps, link, log, ring);
      const ownKeys = findOwnKeys(ring, link.userId);
      if (ownKeys.length === 0) return { code: 'no_key' };
      const task = await loadTask(deps, link, { log, ring, charters });
      if (isProblem(task)) return task;
      const options = buildRequestOptions(relyingParty, task.challenge, ownKeys);
      return { kind: 'sign', content: task.content, options };
    },

    async finish(token, body) {
      const link = await findUsableLink(token);
      if ('code' in link) return link;
      const { log, ring, charters } = await deps.orders.signing.loadKeys();
      if (link.purpose === 'add') return addKey(deps, link, log, body);
      const parsed = assertionBodySchema.safeParse(body);
      if (!parsed.success) return { code: 'unreadable' };
      const key = findOwnKeys(ring, link.userId).find(({ credential }) => credential === parsed.data.id);
      if (key === undefined) return { code: 'key_unknown' };
      const task = await loadTask(deps, link, { log, ring, charters });
      if (isProblem(task)) return task;
      const assertion = buildAssertion(key, task.challenge, parsed.data);
      const counter = await verifier.verify(assertion);
      // A person who has the link but not the passkey must not use up the link.
      if (counter === undefined) return explainInvalidSignature(parsed.data, task.challenge);
      if (!(await deps.links.spend(link.tokenHash, now()))) return { code: 'link_spent' };
      if (!(await deps.keys.advanceCounter(key.fingerprint, counter))) return { code: 'counter' };
      return task.complete(assertion, key);
    },
  };
}

function findOwnKeys({ validKeys }: KeyRing, userId: string): readonly ValidKey[] {
  return [...validKeys.values()].filter(({ owner }) => owner === userId);
}

function buildRequestOptions(
  { id }: RelyingParty,
  challenge: Challenge,
  keys: readonly ValidKey[],
): PublicKeyCredentialRequestOptionsJSON {
  return {
    challenge: encodeChallenge(challenge),
    rpId: id,
    allowCredentials: keys.map(({ credential }) => ({ id: credential, type: 'public-key' })),
    userVerification: 'required',
    timeout: AUTHENTICATOR_TIMEOUT_MS,
  };
}

function buildAssertion<SignedChallenge extends Challenge>(
  { fingerprint: key, publicKey, credential }: ValidKey,
  challenge: SignedChallenge,
  { response }: Pick<AuthenticationResponseJSON, 'response'>,
): Assertion<SignedChallenge> {
  const { authenticatorData, clientDataJSON, signature } = response;
  return { challenge, key, publicKey, credential, authenticatorData, clientDataJSON, signature };
}

const clientDataSchema = z.object({ challenge: z.string() });

/** Distinguishes a signature of other content from an invalid signature. */
function explainInvalidSignature(
  { response }: z.output<typeof assertionBodySchema>,
  challenge: Challenge,
): SigningProblem {
  try {
    const decoded: unknown = JSON.parse(Buffer.from(response.clientDataJSON, 'base64url').toString());
    const signsOtherContent = clientDataSchema.parse(decoded).challenge !== encodeChallenge(challenge);
    return { code: signsOtherContent ? 'changed' : 'not_signed' };
  } catch {
    return { code: 'unreadable' };
  }
}

async function loadTask(
  deps: CeremonyDeps,
  link: SigningLink,
  keys: LoadedKeys,
): Promise<SigningTask | SigningProblem> {
  switch (link.purpose) {
    case 'order':
    case 'resume':
      return buildOrderTask(deps, link);
    case 'facts':
      return buildNameChangeTask(deps, link);
    case 'vouch':
    case 'revoke':
    case 'revoke_compromised':
      return buildKeyTask(deps, link, link.purpose, keys);
    case 'charter':
    case 'policy':
    case 'settings':
      return buildCharterTask(deps, link, keys.charters.at(-1));
    case 'add':
      return { code: 'unreadable' };
  }
}

async function buildOrderTask(
  deps: CeremonyDeps,
  { userId, subject, salt }: SigningLink,
): Promise<SigningTask | SigningProblem> {
  const { orders } = deps;
  const isAdmin = await orders.isAdmin(userId);
  const order = await loadVisibleOrder(orders, { id: userId, isAdmin }, subject);
  if (order === undefined) return { code: 'gone' };
  const isResumption = isPaused(order);
  const refusal = isResumption ? undefined : await checkCanApprove(orders, order, userId);
  if (refusal !== undefined && !(refusal.code === 'not_an_approver' && isAdmin))
    return { code: 'refused', refusal };
  const statement = verifyStatement(order, orders.serviceEndpoints);
  if (statement === undefined) return { code: 'gone' };
  const version = getSignedVersion(await orders.signing.policy.loadCurrentPolicy());
  const { challenge, binding } = buildChallenge(userId, buildSignedSubject(order, version), salt);
  return {
    content: { kind: 'order', order, statement, userId },
    challenge,
    async complete(assertion, { chain }) {
      const signed = { signature: { ...assertion, challenge }, binding, chain };
      const outcome = isResumption
        ? await resumeOrder(orders, order.id, userId, signed)
        : await approveWithSignature(orders, order.id, userId, signed);
      if (outcome.ok) return { kind: 'signed' };
      await recordRefusalShown(orders, order.id, userId, outcome.refusal);
      return { code: 'refused', refusal: outcome.refusal };
    },
  };
}

async function buildNameChangeTask(
  { proposals }: CeremonyDeps,
  { userId, subject, salt }: SigningLink,
): Promise<SigningTask | SigningProblem> {
  const proposal = await proposals.find(['facts', 'lapse'], subject);
  if (proposal === undefined) return { code: 'gone' };
  if (proposal.proposer === userId) return { code: 'own_change' };
  const signedSubject = await proposals.buildSignedSubject(proposal);
  const { challenge, binding } = buildChallenge(userId, signedSubject, salt);
  return {
    content: { kind: 'facts', userId, proposal, hash: signedSubject.statementHash },
    challenge,
    async complete(assertion) {
      const signed = { signature: { ...assertion, challenge }, binding };
      const confirmation = { userId, signed, shownHash: signedSubject.statementHash };
      return toResult(await proposals.confirm([proposal.kind], proposal.id, confirmation));
    },
  };
}

function toResult(outcome: ProposalOutcome): CeremonyResult | SigningProblem {
  if (outcome.ok) return { kind: 'signed' };
  const { refusal } = outcome;
  switch (refusal.code) {
    case 'gone':
    case 'cannot_sign':
      return { code: 'gone' };
    case 'changed':
    case 'not_an_admin':
      return { code: refusal.code };
    case 'too_many_guarded':
    case 'list_full':
      return { code: 'beyond_limit' };
    case 'needs_signature':
    case 'needs_charter':
      return { code: 'not_signed' };
    case 'own':
      return { code: 'own_change' };
    default:
      return { code: 'refused', refusal };
  }
}

interface LoadedKeys {
  readonly log: KeyLog;
  readonly ring: KeyRing;
  readonly charters: readonly LoggedCharter[];
}

async function buildKeyTask(
  { keys, orders, now }: CeremonyDeps,
  { subject, userId: by, salt: nonce }: SigningLink,
  kind: 'vouch' | 'revoke' | 'revoke_compromised',
  { ring, log }: LoadedKeys,
): Promise<SigningTask | SigningProblem> {
  const key = ring.keys.find(({ fingerprint }) => fingerprint === subject);
  if (key === undefined || key.validity === 'revoked' || key.validity === 'left') return { code: 'gone' };
  const content = { kind, userId: by, key };
  const signedFields = { by, key: key.fingerprint, nonce, of: key.owner };
  if (kind === 'vouch') {
    const challenge = { ...signedFields, decision: 'vouch' } as const;
    const complete: SigningTask['complete'] = async (assertion) => {
      await keys.vouch(key.owner, { ...assertion, challenge }, now());
      return { kind: 'vouched' };
    };
    return { content, challenge, complete };
  }
  const canRevoke = createRevocationCheck(log, orders.signing.trust?.roots ?? new Set());
  if (!canRevoke(findOwnKeys(ring, by), key)) return { code: 'may_not_revoke' };
  const reason = kind === 'revoke' ? 'retired' : 'compromised';
  const challenge = { ...signedFields, decision: 'revoke', reason } as const;
  const complete: SigningTask['complete'] = async (assertion, signingKey) => {
    if (!canRevoke([signingKey], key)) return { code: 'may_not_revoke' };
    await keys.revoke(key.owner, { ...assertion, challenge }, now());
    return { kind: 'revoked' };
  };
  return { content, challenge, complete };
}

/** @param lastCharter the newest charter in the log */
async function buildCharterTask(
  deps: CeremonyDeps,
  link: SigningLink,
  lastCharter: LoggedCharter | undefined,
): Promise<SigningTask | SigningProblem> {
  const { orders } = deps;
  const { userId, salt: nonce } = link;
  const { trust } = orders.signing;
  if (!(await orders.isAdmin(userId))) return { code: 'not_an_admin' };
  if (trust?.botSigner === undefined) return { code: 'no_bot_signer' };
  const { botSigner } = trust;
  const proposedCharter = await loadProposedCharter(deps, link);
  if (proposedCharter === undefined) return { code: 'gone' };
  if (proposedCharter.publisher === userId) return { code: 'own_change' };
  const shownCharter = buildCharter(proposedCharter.policyAndSettings, proposedCharter.publisher);
  // Drops undefined properties, which aren't stored.
  const charter = z.json().parse(JSON.parse(JSON.stringify(shownCharter)));
  const challenge = {
    by: userId,
    charter: hashJson(charter),
    decision: 'publish',
    nonce,
    ...buildPreviousField(lastCharter),
  } as const;
  return {
    content: { kind: 'charter', userId, ...shownCharter },
    challenge,
    async complete(assertion) {
      const signature = { ...assertion, challenge };
      const signedCharter = {
        charter,
        signature,
        botSignature: botSigner.sign(formatCharterText(challenge)),
      };
      const outcome = await proposedCharter.confirm(signedCharter);
      deps.onPolicyOrSettingsChanged();
      return outcome;
    },
  };
}

interface ProposedCharter {
  readonly policyAndSettings: PolicyAndSettings;
  readonly publisher: string | undefined;
  /** Logs the charter together with the changes that it puts into effect. */
  readonly confirm: (signedCharter: SignedCharter) => Promise<CeremonyResult | SigningProblem>;
}

async function loadProposedCharter(
  { keys, policies, proposals, loadSavedSettings, applySavedSettings, now }: CeremonyDeps,
  { purpose, subject, userId }: SigningLink,
): Promise<ProposedCharter | undefined> {
  const [policy, savedSettings] = await Promise.all([policies.loadCurrentPolicy(), loadSavedSettings()]);
  if (purpose === 'charter') {
    return {
      policyAndSettings: { policy, settings: applySavedSettings(savedSettings) },
      publisher: policy.version === 0 ? undefined : await keys.findLastPublisher(),
      confirm: async (signedCharter) =>
        (await keys.signCharter(signedCharter, now())) ? { kind: 'signed' } : { code: 'gone' },
    };
  }
  const proposal = await proposals.find(['policy', 'settings'], subject);
  if (proposal === undefined) return undefined;
  const { kind, proposer: publisher, payload, hash: shownHash } = proposal;
  return {
    publisher,
    policyAndSettings:
      kind === 'policy'
        ? { policy: payload, settings: applySavedSettings(savedSettings) }
        : { policy, settings: applySavedSettings({ ...savedSettings, ...toSavedValues(payload) }) },
    confirm: async (charter) =>
      toResult(await proposals.confirm([kind], subject, { userId, shownHash, charter })),
  };
}

function toSavedValues(changes: ProposalOf<'settings'>['payload']): Readonly<Record<string, string>> {
  return Object.fromEntries(changes.map(({ name, after }) => [name, after]));
}

async function buildAddPage(
  { relyingParty }: CeremonyDeps,
  { userId, salt }: SigningLink,
  log: KeyLog,
  { validKeys }: KeyRing,
): Promise<SigningPage | SigningProblem> {
  if (isAtKeyLimit(log, userId)) return { code: 'too_many_keys' };
  const options = await generateRegistrationOptions({
    rpName: 'Domain Steward',
    rpID: relyingParty.id,
    userName: userId,
    userID: new Uint8Array(Buffer.from(userId)),
    challenge: new Uint8Array(Buffer.from(salt, 'hex')),
    attestationType: 'none',
    timeout: AUTHENTICATOR_TIMEOUT_MS,
    excludeCredentials: log.addedKeys
      .filter(({ owner }) => owner === userId)
      .map(({ credential }) => ({ id: credential })),
    authenticatorSelection: { residentKey: 'preferred', userVerification: 'required' },
    supportedAlgorithmIDs: [...ACCEPTED_ALGORITHMS],
  });
  return { kind: 'add', userId, isFirstKey: validKeys.size === 0, options };
}

async function addKey(
  { keys, links, relyingParty, now }: CeremonyDeps,
  { userId, salt, tokenHash }: SigningLink,
  log: KeyLog,
  body: unknown,
): Promise<CeremonyResult | SigningProblem> {
  const parsed = registrationBodySchema.safeParse(body);
  if (!parsed.success) return { code: 'unreadable' };
  const { label, registration } = parsed.data;
  const credential = await verifyRegistration(registration, salt, relyingParty);
  if (credential === undefined) return { code: 'registration' };
  const publicKey = coseToSpki(credential.publicKey);
  const fingerprint = computeFingerprint(publicKey);
  if (log.addedKeys.some((key) => key.fingerprint === fingerprint)) return { code: 'key_taken' };
  if (!(await links.spend(tokenHash, now()))) return { code: 'link_spent' };
  const isAdded = await keys.add({
    fingerprint,
    publicKey,
    label,
    owner: userId,
    credential: credential.id,
    host: relyingParty.id,
    addedAt: now(),
  });
  if (!isAdded) return { code: 'too_many_keys' };
  await keys.advanceCounter(fingerprint, credential.counter);
  return { kind: 'added', fingerprint };
}

/** @returns undefined if the registration isn't valid for this link */
async function verifyRegistration(
  registration: z.output<typeof registrationBodySchema>['registration'],
  salt: string,
  { id, origin }: RelyingParty,
) {
  const response: RegistrationResponseJSON = { ...registration, clientExtensionResults: {} };
  try {
    const { verified, registrationInfo } = await verifyRegistrationResponse({
      response,
      expectedChallenge: Buffer.from(salt, 'hex').toString('base64url'),
      expectedOrigin: origin,
      expectedRPID: id,
      requireUserVerification: true,
      supportedAlgorithmIDs: [...ACCEPTED_ALGORITHMS],
    });
    return verified ? registrationInfo.credential : undefined;
  } catch {
    return undefined;
  }
}
