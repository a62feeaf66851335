import { approveOrder, approveWithSignature } from '../../src/approvals/approve.ts';
import { buildCharter, buildPreviousField, formatCharterText } from '../../src/approvals/charter.ts';
import { buildSignedSubject, createOrderSigning } from '../../src/approvals/order-signing.ts';
import { buildChallenge, type LoggedSignature } from '../../src/approvals/signing/approval.ts';
import { createVerifier, hashJson, type Verifier } from '../../src/approvals/signing/assertion.ts';
import { readConfig } from '../../src/config/environment.ts';
import { applySavedSettings } from '../../src/config/settings.ts';
import { createLedgerKey, parseLedgerKey } from '../../src/ledger/key.ts';
import { createLedger } from '../../src/ledger/ledger.ts';
import { createLog } from '../../src/lib/log.ts';
import type { Order } from '../../src/orders/order.ts';
import { getSignedVersion, type PolicyRule } from '../../src/policy/policy.ts';
import { VerifiedSigningLog } from '../../src/store/known-key-log.ts';
import { createLedgerStore } from '../../src/store/ledger.ts';
import { createPolicyStore } from '../../src/store/policies.ts';
import { createSettingsStore } from '../../src/store/settings.ts';
import { createKeyStore } from '../../src/store/signing.ts';
import { startRig } from '../orders/rig.ts';
import { newPolicyRule } from '../policy/sample.ts';
import { confirmPolicy } from '../support/proposals.ts';
import {
  getRootFingerprints,
  newAddedKey,
  newNonce,
  newSigner,
  RELYING_PARTY,
  type Signer,
  signVouch,
} from './signing/sample.ts';

export const TEAM_ID = 'T0STEWARD';
const { defaultSettings: DEFAULT_SETTINGS } = readConfig({
  SLACK_BOT_TOKEN: 'xoxb-1',
  SLACK_SIGNING_SECRET: 'secret-secret',
  SERVICE_JSON_URL: 'https://service.example/v1',
  CREDENTIALS_KEYS: `k1:${Buffer.alloc(32).toString('base64')}`,
  APPROVERS: 'U0BOB,U0CAROL',
});

/** Every order needs signatures from two of three people. */
export const SIGNED_RULE = newPolicyRule({
  name: 'the request',
  approvers: ['U0BOB', 'U0CAROL', 'U0DORA'],
  needed: 2,
  signed: true,
});

/**
 * The order rig with passkeys. Anna has the root key and has vouched for Bob, Carol and Dora, but nobody for
 * Mallory. The policy, settings, keys and charters are in the database.
 */
export async function startSigningRig() {
  const rig = await startRig();
  const { database } = rig;
  await rig.sql(`INSERT INTO installation (id, team_id) VALUES (1, '${TEAM_ID}')`);
  const keys = createKeyStore(database, TEAM_ID);
  const policies = createPolicyStore(database, TEAM_ID, true);
  const settingsStore = createSettingsStore(database);
  const people = {
    anna: newSigner('U0ANNA'),
    bob: newSigner('U0BOB'),
    carol: newSigner('U0CAROL'),
    dora: newSigner('U0DORA'),
    mallory: newSigner('U0MALLORY'),
  };
  const writtenAt = new Date('2026-03-01T08:00:00Z');
  const environmentSettings = applySavedSettings(DEFAULT_SETTINGS, {});
  const botSigner = parseLedgerKey(createLedgerKey());
  const ledger = createLedger({
    store: createLedgerStore(database, TEAM_ID),
    key: botSigner,
    anchorFile: { load: async () => undefined, save: async () => undefined },
    now: () => rig.now,
    log: createLog('fatal'),
  });
  const createSigning = ({ readRows }: typeof keys, verifier = createVerifier(RELYING_PARTY)) =>
    createOrderSigning({
      trust: { roots: getRootFingerprints(people.anna), verifier, botSigner },
      readRows: () => readRows(ledger.areSigningEventsSealed),
      directory: rig.directory,
      applySavedSettings: (each) => applySavedSettings(DEFAULT_SETTINGS, each),
      environmentSettings,
      ruleFacts: rig.orders.ruleFacts,
      now: () => rig.now,
    });
  const signing = createSigning(keys);
  const signingDeps = { signing, settings: signing.loadSettings, policy: signing.policy };
  Object.assign(rig.orders, signingDeps);
  Object.assign(rig.mandates, signingDeps);
  const { orders } = rig;
  const process = rig.startProcess(signingDeps);

  const addKey = (signer: Signer) => keys.add({ ...newAddedKey(signer), addedAt: writtenAt });
  for (const signer of Object.values(people)) await addKey(signer);
  for (const signer of [people.bob, people.carol, people.dora])
    await keys.vouch(signer.owner, signVouch(people.anna, signer), writtenAt);

  return {
    rig,
    signing,
    /** Creates the signing of a restarted process, which has no verified log in memory. */
    restartSigning: (verifier?: Verifier) =>
      createSigning(createKeyStore({ ...database, signingLog: new VerifiedSigningLog() }, TEAM_ID), verifier),
    /** Seals all pending events. */
    sealPendingEvents: () => ledger.sealAndAnchor(),
    /** Runs SQL with triggers disabled, as the database owner could. */
    tamper: (statement: string) =>
      rig.sql(
        `DO $do$ BEGIN PERFORM set_config('session_replication_role', 'replica', true); ${statement}; END $do$`,
      ),
    saveSettings: settingsStore.save,
    keys,
    people,
    addKey,
    /** Publishes a policy and signs its charter, unless `signer` is `nobody`. */
    async publishPolicy(rules: readonly PolicyRule[], signer: Signer | 'nobody' = people.anna) {
      const current = await policies.loadCurrentPolicy();
      const draft = await policies.saveDraft(rules, `version ${current.version}`, 'U0ADA', writtenAt);
      const revision = draft?.revision ?? '';
      await policies.publish(revision, 'U0ADA', writtenAt);
      await confirmPolicy(database, TEAM_ID, revision, 'U0EVE', writtenAt);
      if (signer !== 'nobody') await this.signCharter(signer);
    },
    /** @param forgery what an attacker would change */
    async signCharter(
      signer: Signer,
      forgery: { readonly publisher?: string; readonly isSignedByBot?: boolean } = {},
    ) {
      const { publisher = 'U0ADA', isSignedByBot = true } = forgery;
      const charterContent = {
        policy: await policies.loadCurrentPolicy(),
        settings: applySavedSettings(DEFAULT_SETTINGS, await settingsStore.loadAll()),
      };
      const charter = JSON.parse(JSON.stringify(buildCharter(charterContent, publisher)));
      const { log } = await keys.readRows();
      const challenge = {
        by: signer.owner,
        charter: hashJson(charter),
        decision: 'publish',
        nonce: newNonce(),
        ...buildPreviousField(log.charters.at(-1)),
      } as const;
      const signature = signer.authenticator.assert(challenge);
      const botSignature = isSignedByBot ? botSigner.sign(formatCharterText(challenge)) : '';
      await keys.signCharter({ charter, signature, botSignature }, writtenAt);
    },
    /** Signs an order like the signing page, but doesn't send the signature. */
    async createSignature(orderId: string, { owner, authenticator }: Signer): Promise<LoggedSignature> {
      const order = await rig.read(orderId);
      const version = getSignedVersion(await signing.policy.loadCurrentPolicy());
      const { challenge, binding } = buildChallenge(owner, buildSignedSubject(order, version), newNonce());
      return { signature: authenticator.assert(challenge), binding, chain: [] };
    },
    async approveWithSignatures(orderId: string, ...signers: readonly Signer[]) {
      const outcomes = [];
      for (const signer of signers)
        outcomes.push(
          await approveWithSignature(
            orders,
            orderId,
            signer.owner,
            await this.createSignature(orderId, signer),
          ),
        );
      return outcomes.at(-1);
    },
    approve: (orderId: string, userId: string) => approveOrder(orders, orderId, userId),
    /** Alice requests a renewal; Bob and Carol sign it. */
    async requestSignedOrder(name = 'cafe.rest'): Promise<Order> {
      const order = await this.requestRenewal(name);
      await this.approveWithSignatures(order.id, people.bob, people.carol);
      return rig.read(order.id);
    },
    requestRenewal: (name: string) => rig.requestAccepted('renew', { names: [name], period: 1 }),
    execute: (orderId: string) => process.execute(orderId),
    advance: (orderId: string) => process.advance(orderId, 'execution'),
  };
}

export type SigningRig = Awaited<ReturnType<typeof startSigningRig>>;
