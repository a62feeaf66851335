import { approveOrder, approveSigned } from '../../src/approvals/approve.ts';
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
import { rule } from '../policy/sample.ts';
import { confirmPolicy } from '../support/proposals.ts';
import {
  addedKey,
  newNonce,
  newSigner,
  RELYING_PARTY,
  rootsOf,
  type Signer,
  signVouch,
} from './signing/sample.ts';

export const TEAM_ID = 'T0STEWARD';
const { team: START } = readConfig({
  SLACK_BOT_TOKEN: 'xoxb-1',
  SLACK_SIGNING_SECRET: 'secret-secret',
  SERVICE_JSON_URL: 'https://service.example/v1',
  CREDENTIALS_KEYS: `k1:${Buffer.alloc(32).toString('base64')}`,
  APPROVERS: 'U0BOB,U0CAROL',
});

/** Every order needs two signatures of three people. */
export const SIGNED_RULE = rule({
  name: 'the request',
  approvers: ['U0BOB', 'U0CAROL', 'U0DORA'],
  needed: 2,
  signed: true,
});

/**
 * The use cases with passkeys: Anna is the root, and has vouched for Bob, Carol and Dora, but nobody for Mallory’s key.
 * The policy, the settings, keys and charters are in the database.
 */
export async function startSigningRig() {
  const rig = await startRig();
  const { database } = rig;
  await rig.sql(`INSERT INTO installation (id, team_id) VALUES (1, '${TEAM_ID}')`);
  const keys = createKeyStore(database, TEAM_ID);
  const policies = createPolicyStore(database, TEAM_ID, true);
  const saved = createSettingsStore(database);
  const people = {
    anna: newSigner('U0ANNA'),
    bob: newSigner('U0BOB'),
    carol: newSigner('U0CAROL'),
    dora: newSigner('U0DORA'),
    mallory: newSigner('U0MALLORY'),
  };
  const at = new Date('2026-03-01T08:00:00Z');
  const environmentSettings = applySavedSettings(START, {});
  const botSigner = parseLedgerKey(createLedgerKey());
  const ledger = createLedger({
    store: createLedgerStore(database, TEAM_ID),
    key: botSigner,
    anchorFile: { load: async () => undefined, save: async () => undefined },
    now: () => rig.now,
    log: createLog('fatal'),
  });
  const signingOf = ({ readRows }: typeof keys, verifier = createVerifier(RELYING_PARTY)) =>
    createOrderSigning({
      trust: { roots: rootsOf(people.anna), verifier, botSigner },
      readRows: () => readRows(ledger.areSigningEventsSealed),
      directory: rig.directory,
      applySavedSettings: (each) => applySavedSettings(START, each),
      environmentSettings,
      ruleFacts: rig.orders.ruleFacts,
      now: () => rig.now,
    });
  const signing = signingOf(keys);
  const signed = { signing, settings: signing.loadSettings, policy: signing.policy };
  Object.assign(rig.orders, signed);
  Object.assign(rig.mandates, signed);
  const { orders } = rig;
  const process = rig.startProcess(signed);

  const addKey = (signer: Signer) => keys.add({ ...addedKey(signer), addedAt: at });
  for (const signer of Object.values(people)) await addKey(signer);
  for (const of of [people.bob, people.carol, people.dora])
    await keys.vouch(of.owner, signVouch(people.anna, of), at);

  return {
    rig,
    signing,
    /** After a restart, without any memory. */
    restart: (verifier?: Verifier) =>
      signingOf(createKeyStore({ ...database, signingLog: new VerifiedSigningLog() }, TEAM_ID), verifier),
    /** Seals every event that waits. */
    seal: () => ledger.sealAndAnchor(),
    /** With the triggers disabled, as the owner of the database could. */
    tamper: (statement: string) =>
      rig.sql(
        `DO $do$ BEGIN PERFORM set_config('session_replication_role', 'replica', true); ${statement}; END $do$`,
      ),
    save: saved.save,
    keys,
    people,
    enrol: addKey,
    /** Publishes a policy, and has it signed. */
    async publish(rules: readonly PolicyRule[], signer: Signer | 'nobody' = people.anna) {
      const current = await policies.current();
      const draft = await policies.saveDraft(rules, `version ${current.version}`, 'U0ADA', at);
      const revision = draft?.revision ?? '';
      await policies.publish(revision, 'U0ADA', at);
      await confirmPolicy(database, TEAM_ID, revision, 'U0EVE', at);
      if (signer !== 'nobody') await this.signCharter(signer);
    },
    /** @param more what an attacker would sign, or leave out */
    async signCharter(
      signer: Signer,
      more: { readonly publisher?: string; readonly isSignedByBot?: boolean } = {},
    ) {
      const { publisher = 'U0ADA', isSignedByBot = true } = more;
      const rules = {
        policy: await policies.current(),
        settings: applySavedSettings(START, await saved.loadAll()),
      };
      const charter = JSON.parse(JSON.stringify(buildCharter(rules, publisher)));
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
      await keys.signCharter({ charter, signature, botSignature }, at);
    },
    /** A person's signature of an order, as the page would create it. */
    async signOrder(orderId: string, { owner, authenticator }: Signer): Promise<LoggedSignature> {
      const order = await rig.read(orderId);
      const version = getSignedVersion(await signing.policy.current());
      const { challenge, binding } = buildChallenge(owner, buildSignedSubject(order, version), newNonce());
      return { signature: authenticator.assert(challenge), binding, chain: [] };
    },
    async sign(orderId: string, ...signers: readonly Signer[]) {
      const outcomes = [];
      for (const signer of signers)
        outcomes.push(
          await approveSigned(orders, orderId, signer.owner, await this.signOrder(orderId, signer)),
        );
      return outcomes.at(-1);
    },
    click: (orderId: string, userId: string) => approveOrder(orders, orderId, userId),
    /** Alice requests, and Bob and Carol sign. */
    async requestSignedOrder(name = 'cafe.rest'): Promise<Order> {
      const order = await this.requestRenewal(name);
      await this.sign(order.id, people.bob, people.carol);
      return rig.read(order.id);
    },
    requestRenewal: (name: string) => rig.requestAccepted('renew', { names: [name], period: 1 }),
    execute: (orderId: string) => process.execute(orderId),
    advance: (orderId: string) => process.advance(orderId, 'execution'),
  };
}

export type SigningRig = Awaited<ReturnType<typeof startSigningRig>>;
