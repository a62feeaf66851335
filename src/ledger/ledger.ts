import type { Vault } from '../accounts/vault.ts';
import { HOUR_MS } from '../lib/duration.ts';
import type { Log } from '../lib/log.ts';
import type { Statement } from '../orders/statement-shape.ts';
import type { AnchorFile } from './anchor-file.ts';
import { areSigningEventsSealed, checkLedger, findHistoryDifference } from './check.ts';
import { createLedgerKey, type LedgerKey, parseLedgerKey } from './key.ts';
import type { Anchor, LedgerKeyStore, LedgerStore, UnsealedEvent } from './ports.ts';
import { buildHeaderLine, buildReceiptLines, type FileLine, type ReceiptOrder } from './receipt.ts';
import { buildNextSeal, hashEventLine, hashSeal, hasValidSignature, type Seal, toEventLine } from './seal.ts';

export interface LedgerContext {
  readonly store: LedgerStore;
  /** Undefined if it can't be decrypted. Nothing is sealed without it. */
  readonly key: LedgerKey | undefined;
  readonly anchorFile: AnchorFile;
  readonly now: () => Date;
  readonly log: Log;
}

export interface LedgerState {
  readonly fingerprint: string | undefined;
  readonly newestSeal: (Seal & { readonly hash: string }) | undefined;
  readonly newestAnchor: Anchor | undefined;
  readonly unsealedSeconds: number;
}

export type Ledger = ReturnType<typeof createLedger>;

/** Maximum number of events per seal. A receipt contains all leaf hashes of its seals. */
const MAX_SEAL_EVENTS = 1_024;
const CHECK_INTERVAL_MS = HOUR_MS;
/** Events that stay unsealed for longer than this cause an alert. */
export const MAX_UNSEALED_SECONDS = 60;

/** The newest seal was signed with another key. */
class OtherLedgerKeyError extends Error {
  override readonly name = 'OtherLedgerKeyError';
}

export function createLedger({ store, key, anchorFile, now, log }: LedgerContext) {
  let wasOtherKeyReported = false;
  let wasCheckedForRestore = false;
  let lastCheckedAt: Date | undefined;

  function buildSeal(signer: LedgerKey, lastSeal: Seal | undefined, events: readonly UnsealedEvent[]) {
    if (lastSeal !== undefined && !hasValidSignature(lastSeal, signer)) throw new OtherLedgerKeyError();
    const from = (lastSeal?.to ?? 0) + 1;
    const leaves = events.map((event, index) =>
      'leaf' in event ? event.leaf : hashEventLine(toEventLine(from + index, event)),
    );
    return { seal: buildNextSeal(lastSeal, leaves, signer, now()), leaves };
  }

  async function sealAll(signer: LedgerKey): Promise<void> {
    try {
      const buildNext = (lastSeal: Seal | undefined, events: readonly UnsealedEvent[]) =>
        buildSeal(signer, lastSeal, events);
      while ((await store.seal(MAX_SEAL_EVENTS, buildNext)) === MAX_SEAL_EVENTS);
      wasOtherKeyReported = false;
    } catch (error) {
      if (!isOtherKeyError(error)) throw error;
      if (!wasOtherKeyReported)
        log.error(
          'nothing is sealed: the ledger was signed with another key. Set LEDGER_KEY to that key again',
        );
      wasOtherKeyReported = true;
    }
  }

  /** Detects a restored database. Must run before this process seals anything. */
  async function checkForRestore(): Promise<void> {
    const savedAnchor = await anchorFile.load();
    if (savedAnchor !== undefined) {
      const [newest, [seal]] = await Promise.all([
        store.findNewestSeal(),
        store.listSeals(savedAnchor.n, savedAnchor.n),
      ]);
      const difference = findHistoryDifference(savedAnchor, newest?.n ?? 0, seal && hashSeal(seal));
      if (difference !== undefined) await store.recordDifferences([difference], now());
    }
    wasCheckedForRestore = true;
  }

  async function checkAndReport(): Promise<void> {
    if (key === undefined) return;
    const newest = await store.findNewestSeal();
    const differences =
      newest === undefined || hasValidSignature(newest, key)
        ? await checkLedger({
            anchors: await store.listAnchors(),
            blocks: store.read(),
            key,
            savedAnchor: await anchorFile.load(),
            strayEventCount: await store.countStrayEvents(),
            forgottenEvents: await store.loadForgottenEvents(),
          })
        : [{ code: 'other_key', count: 1, first: newest.n } as const];
    if (differences.length === 0) return;
    log.error({ differences }, 'the ledger check found differences');
    await store.recordDifferences(differences, now());
  }

  async function anchorNewestSeal(): Promise<void> {
    // The saved anchor must be checked before it's replaced.
    if (lastCheckedAt === undefined) return;
    const seal = await store.findNewestSeal();
    const at = now();
    if (seal !== undefined && (await store.anchor(seal, at)))
      await anchorFile.save({ n: seal.n, hash: hashSeal(seal), at: at.toISOString() });
  }

  return {
    /** Anchors the newest seal once an hour, even if sealing fails. */
    async sealAndAnchor(): Promise<void> {
      try {
        if (key !== undefined && !wasCheckedForRestore) await checkForRestore();
        if (key !== undefined) await sealAll(key);
      } finally {
        await anchorNewestSeal();
      }
    },

    async alertIfStalled(): Promise<void> {
      if ((await store.loadUnsealedSeconds()) > MAX_UNSEALED_SECONDS) await store.recordSealingStalled(now());
    },

    /** Checks the ledger at the first call, then once an hour. */
    async checkIfDue(): Promise<void> {
      const at = now();
      if (lastCheckedAt !== undefined && Math.abs(at.getTime() - lastCheckedAt.getTime()) < CHECK_INTERVAL_MS)
        return;
      await checkAndReport();
      lastCheckedAt = at;
    },

    /** See {@link areSigningEventsSealed}. Returns false without a key. */
    async areSigningEventsSealed(): Promise<boolean> {
      if (key === undefined) return false;
      const [blocks, forgottenEvents] = await Promise.all([
        store.loadSigningBlocks(),
        store.loadForgottenEvents(),
      ]);
      return areSigningEventsSealed(blocks, { key, forgottenEvents });
    },

    async loadState(): Promise<LedgerState> {
      const [newestSeal, unsealedSeconds, newestAnchor] = await Promise.all([
        store.findNewestSeal(),
        store.loadUnsealedSeconds(),
        store.findNewestAnchor(),
      ]);
      return {
        fingerprint: key?.fingerprint,
        newestSeal: newestSeal && { ...newestSeal, hash: hashSeal(newestSeal) },
        newestAnchor,
        unsealedSeconds,
      };
    },

    /** @param period of the seals @returns undefined without a key */
    streamFile: (period?: { readonly from: Date; readonly to: Date }): AsyncIterable<FileLine> | undefined =>
      key && generateFileLines(store, key, period),

    /** @param statement rebuilt from the order's current rows. @returns undefined without a key */
    buildReceipt: async (order: ReceiptOrder, statement: Statement | undefined) =>
      key && buildReceiptLines(store, key, order, statement),
  };
}

async function* generateFileLines(
  store: LedgerStore,
  key: LedgerKey,
  period: { readonly from: Date; readonly to: Date } | undefined,
): AsyncGenerator<FileLine> {
  yield buildHeaderLine(key);
  for await (const { seal, events } of store.read(period)) {
    for (const { line } of events) if (line !== undefined) yield line;
    yield seal;
  }
}

function isOtherKeyError(error: unknown): boolean {
  return error instanceof OtherLedgerKeyError || (error instanceof Error && isOtherKeyError(error.cause));
}

/**
 * Without a configured key, the bot creates one and stores it, encrypted with the current credentials key.
 * @throws {VaultError} if the stored key can't be decrypted
 */
export async function openLedgerKey(
  configuredKey: LedgerKey | undefined,
  {
    store,
    vault,
    teamId,
  }: { readonly store: LedgerKeyStore; readonly vault: Vault; readonly teamId: string },
): Promise<LedgerKey> {
  if (configuredKey !== undefined) return configuredKey;
  const owner = ['ledger', teamId];
  if ((await store.find()) === undefined) await store.add(vault.seal(createLedgerKey(), owner));
  const sealed = await store.find();
  if (sealed === undefined) throw new Error('the ledger’s key was not saved');
  const secret = vault.open(sealed, owner);
  if (sealed.keyId !== vault.currentKeyId) await store.replace(vault.seal(secret, owner));
  return parseLedgerKey(secret);
}
