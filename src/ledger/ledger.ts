import type { Vault } from '../accounts/vault.ts';
import { HOUR_MS } from '../lib/duration.ts';
import type { Log } from '../lib/log.ts';
import type { Statement } from '../orders/statement-shape.ts';
import type { AnchorFile } from './anchor-file.ts';
import { areSigningEventsSealed, checkLedger, findHistoryDifference } from './check.ts';
import { createLedgerKey, type LedgerKey, readLedgerKey } from './key.ts';
import type { Anchor, LedgerKeyStore, LedgerStore, UnsealedEvent } from './ports.ts';
import { buildHeaderLine, buildReceiptLines, type FileLine, type ProvedOrder } from './receipt.ts';
import { buildNextSeal, hashEventLine, hashSeal, isSigned, type Seal, toEventLine } from './seal.ts';

export interface LedgerContext {
  readonly store: LedgerStore;
  /** Undefined if it can't be decrypted. Then nothing is sealed. */
  readonly key: LedgerKey | undefined;
  readonly anchorFile: AnchorFile;
  readonly now: () => Date;
  readonly log: Log;
}

export interface LedgerState {
  readonly fingerprint: string | undefined;
  readonly newest: (Seal & { readonly hash: string }) | undefined;
  readonly anchor: Anchor | undefined;
  readonly waitingSeconds: number;
}

export type Ledger = ReturnType<typeof createLedger>;

/** Maximum number of events per seal. A receipt contains all leaf hashes of its seals. */
const MAX_SEAL_EVENTS = 1_024;
const CHECK_INTERVAL_MS = HOUR_MS;
/** Unsealed events older than this cause an alert. */
export const OVERDUE_SECONDS = 60;

/** The existing seals were signed with another key. */
class OtherLedgerKeyError extends Error {
  override readonly name = 'OtherLedgerKeyError';
}

export function createLedger({ store, key, anchorFile, now, log }: LedgerContext) {
  let isOtherKeyReported = false;
  let isForkChecked = false;
  let checkedAt: Date | undefined;

  function buildSeal(signer: LedgerKey, last: Seal | undefined, events: readonly UnsealedEvent[]) {
    if (last !== undefined && !isSigned(last, signer)) throw new OtherLedgerKeyError();
    const from = (last?.to ?? 0) + 1;
    const leaves = events.map((event, index) =>
      'leaf' in event ? event.leaf : hashEventLine(toEventLine(from + index, event)),
    );
    return { seal: buildNextSeal(last, leaves, signer, now()), leaves };
  }

  async function sealAll(signer: LedgerKey): Promise<void> {
    try {
      const buildNext = (last: Seal | undefined, events: readonly UnsealedEvent[]) =>
        buildSeal(signer, last, events);
      while ((await store.seal(MAX_SEAL_EVENTS, buildNext)) === MAX_SEAL_EVENTS);
      isOtherKeyReported = false;
    } catch (error) {
      if (!isOtherKey(error)) throw error;
      if (!isOtherKeyReported)
        log.error('nothing is sealed: another key signed the ledger. Set LEDGER_KEY to that key again');
      isOtherKeyReported = true;
    }
  }

  /**
   * Before this process seals anything, compares the ledger with the anchor file. If the database was restored, this
   * logs the difference and notifies people.
   */
  async function checkForFork(): Promise<void> {
    const saved = await anchorFile.load();
    if (saved !== undefined) {
      const [newest, [seal]] = await Promise.all([store.findNewestSeal(), store.listSeals(saved.n, saved.n)]);
      const difference = findHistoryDifference(saved, newest?.n ?? 0, seal && hashSeal(seal));
      if (difference !== undefined) await store.recordDifferences([difference], now());
    }
    isForkChecked = true;
  }

  async function check(): Promise<void> {
    if (key === undefined) return;
    const newest = await store.findNewestSeal();
    const differences =
      newest === undefined || isSigned(newest, key)
        ? await checkLedger({
            anchors: await store.listAnchors(),
            blocks: store.read(),
            key,
            savedAnchor: await anchorFile.load(),
            strayEventCount: await store.countStrayEvents(),
            forgotten: await store.loadForgottenEvents(),
          })
        : [{ code: 'other_key', count: 1, first: newest.n } as const];
    if (differences.length === 0) return;
    log.error({ differences }, 'the ledger doesn’t match its log');
    await store.recordDifferences(differences, now());
  }

  async function anchor(): Promise<void> {
    // The saved anchor must be checked before it is replaced.
    if (checkedAt === undefined) return;
    const seal = await store.findNewestSeal();
    const at = now();
    if (seal !== undefined && (await store.anchor(seal, at)))
      await anchorFile.save({ n: seal.n, hash: hashSeal(seal), at: at.toISOString() });
  }

  return {
    /** Seals waiting events. Anchors the newest seal once an hour, even if sealing fails. */
    async sealAndAnchor(): Promise<void> {
      try {
        if (key !== undefined && !isForkChecked) await checkForFork();
        if (key !== undefined) await sealAll(key);
      } finally {
        await anchor();
      }
    },

    async alertIfStalled(): Promise<void> {
      if ((await store.loadWaitingSeconds()) > OVERDUE_SECONDS) await store.recordStalled(now());
    },

    /** Runs at start, then hourly. Reports differences between the ledger, the events and the anchors. */
    async checkIfDue(): Promise<void> {
      const at = now();
      if (checkedAt !== undefined && Math.abs(at.getTime() - checkedAt.getTime()) < CHECK_INTERVAL_MS) return;
      await check();
      checkedAt = at;
    },

    /** Whether the events about keys and charters match their seals. False without a key. */
    async areSigningEventsSealed(): Promise<boolean> {
      if (key === undefined) return false;
      const [blocks, forgotten] = await Promise.all([store.loadSigningBlocks(), store.loadForgottenEvents()]);
      return areSigningEventsSealed(blocks, { key, forgotten });
    },

    async loadState(): Promise<LedgerState> {
      const [newest, waitingSeconds, anchor] = await Promise.all([
        store.findNewestSeal(),
        store.loadWaitingSeconds(),
        store.findNewestAnchor(),
      ]);
      return {
        fingerprint: key?.fingerprint,
        newest: newest && { ...newest, hash: hashSeal(newest) },
        anchor,
        waitingSeconds,
      };
    },

    /** @param period limits the seals by time. @returns undefined without a key */
    streamFile: (period?: { readonly from: Date; readonly to: Date }): AsyncIterable<FileLine> | undefined =>
      key && generateFileLines(store, key, period),

    /** @param statement rebuilt from the order's current rows. @returns undefined without a key */
    buildReceipt: async (order: ProvedOrder, statement: Statement | undefined) =>
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

function isOtherKey(error: unknown): boolean {
  return error instanceof OtherLedgerKeyError || (error instanceof Error && isOtherKey(error.cause));
}

/**
 * Opens the configured key or, without one, the ledger's own key, which is created if missing. The ledger's own key is
 * encrypted with the credentials keys, and encrypted again when these change.
 * @throws {VaultError} if it can't be decrypted
 */
export async function openLedgerKey(
  configured: LedgerKey | undefined,
  {
    store,
    vault,
    teamId,
  }: { readonly store: LedgerKeyStore; readonly vault: Vault; readonly teamId: string },
): Promise<LedgerKey> {
  if (configured !== undefined) return configured;
  const owner = ['ledger', teamId];
  if ((await store.find()) === undefined) await store.add(vault.seal(createLedgerKey(), owner));
  const sealed = await store.find();
  if (sealed === undefined) throw new Error('the ledger’s key was not saved');
  const secret = vault.open(sealed, owner);
  if (sealed.keyId !== vault.currentKeyId) await store.replace(vault.seal(secret, owner));
  return readLedgerKey(secret);
}
