import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { approveOrder, resumeOrder } from '../../../src/approvals/approve.ts';
import { denyOrder } from '../../../src/approvals/deny.ts';
import { parseBulkFile } from '../../../src/orders/bulk/read-csv.ts';
import { isPaused } from '../../../src/orders/bulk/waves.ts';
import { confirmOrder } from '../../../src/orders/confirm-draft.ts';
import type { Order } from '../../../src/orders/order.ts';
import { stopOrder } from '../../../src/orders/stop.ts';
import { Secret } from '../../../src/service/secret.ts';
import { refusalText } from '../../../src/slack/orders/refusal.view.ts';
import { HOUR_MS, MINUTE_MS, newGate, type Rig, requireAccepted, startRig, waitUntil } from '../rig.ts';
import { buildRenewalRequest } from '../sample.ts';
import { failOnAbort, newServiceError, type ScriptedService, SUCCESS_ENVELOPE } from '../scripted-service.ts';

/* Bulk orders with the real store. */

let rig: Rig;
beforeAll(async () => {
  rig = await startRig();
});
beforeEach(() => rig.reset());
afterAll(() => rig.end());

const createNames = (count: number) => Array.from({ length: count }, (_, index) => `n${index + 1}.rest`);
const createRenewalRows = (count: number) =>
  createNames(count).map((name) => ({ name, input: { names: [name], period: 1 } }));

type Row = { readonly name: string; readonly input: unknown; readonly secret?: Secret };

async function requestDraft(
  rows: readonly Row[],
  task: 'renew' | 'nameservers' | 'transfer' = 'renew',
): Promise<Order> {
  const bulk = {
    rows: rows.map(({ secret, ...row }) => ({ ...row, secret })),
    findings: [],
    skippedCount: 0,
  };
  return requireAccepted(await rig.request(task, {}, { bulk }));
}

async function createApprovedOrder(
  rows: readonly Row[],
  task?: 'renew' | 'nameservers' | 'transfer',
): Promise<Order> {
  const { id } = await requestDraft(rows, task);
  const confirmed = await confirmOrder(rig.orders, id, 'U0ALICE');
  if (confirmed.kind !== 'confirmed') throw new Error(`confirming failed: ${confirmed.kind}`);
  if (confirmed.order.state === 'APPROVED') return confirmed.order;
  const outcome = await approveOrder(rig.orders, id, 'U0BOB');
  if (!outcome.ok) throw new Error(refusalText(outcome.refusal));
  return outcome.order;
}

const getNameOfRow = (ctid: string) => `n${ctid.split('.')[1]}.rest`;
/** Answers requests for these names with an error, and others with success. */
const createAnswerRefusing = (...refusedNames: readonly string[]): ScriptedService['answer'] => {
  return async ({ ctid }) => {
    if (refusedNames.includes(getNameOfRow(ctid)))
      throw newServiceError('refused', { code: 'EF01055', httpStatus: 400 });
    return SUCCESS_ENVELOPE;
  };
};
const listItemStates = (order: Order) => order.items.map(({ state }) => state);
const countStates = (order: Order) =>
  Object.fromEntries(
    [...new Set(listItemStates(order))].map((state) => [
      state,
      listItemStates(order).filter((each) => each === state).length,
    ]),
  );

describe('a bulk order', () => {
  it('starts as a draft with its rows and hash, and is approved with that hash', async () => {
    const order = await requestDraft(createRenewalRows(3));
    expect(order.state).toBe('DRAFT');
    const saved = await rig.read(order.id);
    expect(saved.items.map(({ ctid, name, input }) => [ctid, name, input])).toEqual(
      createNames(3).map((name, index) => [`${order.id}.${index + 1}`, name, { names: [name], period: 1 }]),
    );
    expect(saved.statementHash).toMatch(/^[0-9a-f]{64}$/);
    expect(saved.bulk).toMatchObject({ waveSize: 20, unreviewedFrom: 1 });
    await confirmOrder(rig.orders, order.id, 'U0ALICE');
    await approveOrder(rig.orders, order.id, 'U0BOB');
    const history = await rig.store.loadHistory(order.id, 'system');
    const statement = saved.statementHash;
    expect(history[0]).toMatchObject({ statement, rows: 3 });
    expect(history.find(({ kind }) => kind === 'approved')).toMatchObject({ statement });
  });

  it('can’t be confirmed if one of its names has an open order', async () => {
    const order = await requestDraft(createRenewalRows(3));
    const openOrder = await rig.requestAccepted('renew', { names: ['n2.rest'], period: 1 });
    expect(await confirmOrder(rig.orders, order.id, 'U0ALICE')).toMatchObject({
      kind: 'already_open',
      order: { id: openOrder.id },
    });
  });

  it('can’t be confirmed twice, and the refusal names its state even after its scheduled time', async () => {
    const bulk = {
      rows: createRenewalRows(3).map((row) => ({ ...row, secret: undefined })),
      findings: [],
      skippedCount: 0,
    };
    const sendAt = { text: '2026-03-02 09:00', timeZone: 'UTC' };
    const { id } = requireAccepted(await rig.request('renew', {}, { bulk, sendAt }));
    expect(await confirmOrder(rig.orders, id, 'U0ALICE')).toMatchObject({ kind: 'confirmed' });
    rig.advanceClock(48 * HOUR_MS);
    expect(await confirmOrder(rig.orders, id, 'U0ALICE')).toMatchObject({
      refusal: { code: 'wrong_state', action: 'confirmed', state: 'PENDING' },
    });
  });

  it('isn’t sent if a row was changed after the approval', async () => {
    const order = await createApprovedOrder(createRenewalRows(3));
    await rig.sql(
      `UPDATE order_items SET input = '{"names":["n2.rest"],"period":10}' WHERE order_id = $1 AND n = 2`,
      order.id,
    );
    await rig.runDue();
    const after = await rig.read(order.id);
    expect(rig.service.received).toEqual([]);
    expect(after.state).toBe('FAILED');
    expect(after.items.map(({ result }) => result?.summary)).toEqual(
      Array(3).fill({ code: 'statement_changed', parts: [] }),
    );
  });
});

describe('the rows of a bulk order', () => {
  it('are read again before each wave, and a changed row stops the rest', async () => {
    const order = await createApprovedOrder(createRenewalRows(45));
    rig.service.answer = async ({ ctid }) => {
      if (ctid === `${order.id}.3`)
        await rig.sql(
          `UPDATE order_items SET input = '{"names":["n25.rest"],"period":9}' WHERE order_id = $1 AND n = 25`,
          order.id,
        );
      return SUCCESS_ENVELOPE;
    };
    await rig.runDue();
    expect(rig.service.received).toHaveLength(20);
    const after = await rig.read(order.id);
    expect(after.state).toBe('FAILED');
    expect(after.items.map(({ state }) => state)).toEqual([
      ...Array(20).fill('SUCCEEDED'),
      ...Array(25).fill('FAILED'),
    ]);
    expect(after.items[44]?.result?.summary).toEqual({ code: 'statement_changed', parts: [] });
  });

  it('are each sent once with their own input, four at a time', async () => {
    let running = 0;
    let maxRunning = 0;
    const gateOfFour = newGate();
    rig.service.answer = async () => {
      running += 1;
      maxRunning = Math.max(maxRunning, running);
      if (running === 4) gateOfFour.open();
      await gateOfFour.opened;
      running -= 1;
      return SUCCESS_ENVELOPE;
    };
    const rows = createNames(45).map((name, index) => ({
      name,
      input: { names: [name], period: (index % 3) + 1 },
    }));
    const order = await createApprovedOrder(rows);
    await rig.runDue();
    expect(await rig.read(order.id)).toMatchObject({ state: 'SUCCEEDED' });
    expect(maxRunning).toBe(4);
    expect(rig.service.received).toHaveLength(45);
    for (const [index, { name, input }] of rows.entries()) {
      const sent = rig.service.received.filter(({ ctid }) => ctid === `${order.id}.${index + 1}`);
      expect(sent.map(({ description }) => description)).toEqual([buildRenewalRequest(name, input.period)]);
    }
  });

  it('are sent wave by wave', async () => {
    const startedRows: number[] = [];
    const endedRows: number[] = [];
    rig.service.answer = async ({ ctid }) => {
      const n = Number(ctid.split('.')[1]);
      startedRows.push(n);
      expect(endedRows.length, `rows done before row ${n}`).toBeGreaterThanOrEqual(
        Math.floor((n - 1) / 20) * 20,
      );
      await new Promise((resolve) => setImmediate(resolve));
      endedRows.push(n);
      return SUCCESS_ENVELOPE;
    };
    const order = await createApprovedOrder(createRenewalRows(61));
    await rig.main.execute(order.id);
    expect(startedRows, 'rows sent by one claim').toHaveLength(61);
  });

  it('have their own auth codes, which are sealed and wiped when the row ends', async () => {
    const read = await parseBulkFile(
      'transfer',
      `name,auth,ownerc,adminc,techc,nameservers\n${createNames(6)
        .map((name, index) => `${name},CANARY-${index + 1},1,2,3,ns1.example.net ns2.example.net`)
        .join('\n')}`,
    );
    if (!read.ok) throw new Error(JSON.stringify(read.issues));
    rig.service.answer = createAnswerRefusing('n2.rest');
    const order = await createApprovedOrder(
      read.rows.map(({ name, input, secret }) => ({ name, input, ...(secret && { secret }) })),
      'transfer',
    );
    const listSealedRows = () =>
      rig.sql(
        'SELECT n FROM order_items WHERE order_id = $1 AND sealed_input IS NOT NULL ORDER BY n',
        order.id,
      );
    expect(await listSealedRows()).toHaveLength(6);
    expect(await rig.dumpDatabase()).not.toContain('CANARY');
    await rig.runDue();
    const sent = rig.service.received.map(({ description }) =>
      'body' in description ? description.body : undefined,
    );
    expect(sent).toHaveLength(6);
    for (const [index, name] of createNames(6).entries()) {
      const body = sent.find((each) => JSON.stringify(each).includes(`"${name}"`));
      const auth = typeof body === 'object' && body !== null && 'auth' in body ? body['auth'] : undefined;
      expect(auth instanceof Secret && auth.reveal()).toBe(`CANARY-${index + 1}`);
    }
    expect(await listSealedRows()).toEqual([]);
    expect(rig.readLog() + (await rig.dumpDatabase())).not.toContain('CANARY');
  });

  it('lose their auth codes when the order is denied or its draft is deleted', async () => {
    const rows = [{ name: 'a.rest', secret: new Secret('CANARY') }].map(({ name, secret }) => ({
      name,
      secret,
      input: { name, ownerc: 1, adminc: 2, techc: 3, nameServers: ['ns1.example.net', 'ns2.example.net'] },
    }));
    const order = await requestDraft(rows, 'transfer');
    await confirmOrder(rig.orders, order.id, 'U0ALICE');
    await denyOrder(rig.orders, order.id, 'U0BOB', undefined);
    const listSealedRows = () => rig.sql('SELECT n FROM order_items WHERE sealed_input IS NOT NULL');
    expect(await listSealedRows()).toEqual([]);
    await requestDraft(rows, 'transfer');
    expect(await listSealedRows()).toHaveLength(1);
    rig.advanceClock(16 * MINUTE_MS);
    await rig.recover();
    expect(await listSealedRows()).toEqual([]);
  });
});

describe('a bulk order after too many failures', () => {
  it('pauses after three refusals in a row, and a person can resume it', async () => {
    rig.service.answer = createAnswerRefusing(
      'n3.rest',
      'n4.rest',
      'n5.rest',
      'n6.rest',
      'n7.rest',
      'n8.rest',
    );
    const order = await createApprovedOrder(createRenewalRows(30));
    await rig.runDue();
    const paused = await rig.read(order.id);
    expect(paused).toMatchObject({ state: 'APPROVED', bulk: { pause: { code: 'refusals' } } });
    const { FAILED: failed = 0 } = countStates(paused);
    expect(failed, 'refused rows, with three others being sent').toBeLessThanOrEqual(6);
    expect(paused.items.filter(({ state }) => state === 'WAITING').length).toBeGreaterThanOrEqual(22);
    expect(await rig.readDueTimes(order.id), 'the end of the pause').toMatchObject({
      work: new Date(rig.now.getTime() + 72 * HOUR_MS),
    });

    const sent = rig.service.received.length;
    await rig.runDue();
    await rig.main.execute(order.id);
    expect(rig.service.received, 'requests while paused').toHaveLength(sent);

    expect(await resumeOrder(rig.orders, order.id, 'U0EVE')).toMatchObject({
      ok: false,
      refusal: { code: 'not_an_approver', action: 'resume' },
    });
    rig.service.answer = async () => SUCCESS_ENVELOPE;
    expect(await resumeOrder(rig.orders, order.id, 'U0BOB')).toMatchObject({ ok: true });
    await rig.runDue();
    const after = await rig.read(order.id);
    expect(after.state).toBe('FAILED');
    expect(countStates(after)).toEqual({ SUCCEEDED: 30 - failed, FAILED: failed });
    expect(new Set(rig.service.received.map(({ ctid }) => ctid)).size).toBe(30);
    expect(rig.service.received).toHaveLength(30);
    expect(await resumeOrder(rig.orders, order.id, 'U0BOB')).toMatchObject({
      refusal: { code: 'not_paused' },
    });
  });

  /** Approves an order of 30 rows, and runs it until three refusals pause it. */
  async function createPausedOrder(): Promise<Order> {
    rig.service.answer = createAnswerRefusing('n3.rest', 'n4.rest', 'n5.rest');
    const { id } = await createApprovedOrder(createRenewalRows(30));
    await rig.runDue();
    const order = await rig.read(id);
    expect(isPaused(order)).toBe(true);
    rig.service.answer = async () => SUCCESS_ENVELOPE;
    return order;
  }
  const resume = (orderId: string, userId: string) => resumeOrder(rig.orders, orderId, userId);
  async function countSentAfterRun(order: Order): Promise<number> {
    const before = rig.service.received.length;
    await rig.runDue();
    await rig.main.execute(order.id);
    return rig.service.received.length - before;
  }

  it('needs the approvals of a stricter policy, and each approver’s resume counts as one', async () => {
    const order = await createPausedOrder();
    rig.setPolicy(5, { decision: 'approve', approvers: ['U0DORA', 'U0FAY'], needed: 2 });
    expect(await resume(order.id, 'U0ALICE')).toMatchObject({ refusal: { code: 'approvals_missing' } });
    expect(await resume(order.id, 'U0EVE')).toMatchObject({ refusal: { code: 'not_an_approver' } });
    const first = await resume(order.id, 'U0DORA');
    expect(first.ok && isPaused(first.order), 'still paused after the first approval').toBe(true);
    expect(await resume(order.id, 'U0ALICE')).toMatchObject({ refusal: { code: 'approvals_missing' } });
    expect(await resume(order.id, 'U0DORA')).toMatchObject({ ok: false });
    expect(await countSentAfterRun(order)).toBe(0);
    await resume(order.id, 'U0FAY');
    expect(await countSentAfterRun(order)).toBe(countStates(order)['WAITING']);
  });

  it('fails if nobody resumes it in time, and sent rows keep their results', async () => {
    const order = await createPausedOrder();
    rig.advanceClock(72 * HOUR_MS - 1);
    expect(await countSentAfterRun(order)).toBe(0);
    expect(isPaused(await rig.read(order.id))).toBe(true);
    rig.advanceClock(1);
    expect(await resume(order.id, 'U0ALICE')).toMatchObject({ refusal: { code: 'order_expired' } });
    expect(await countSentAfterRun(order)).toBe(0);
    const after = await rig.read(order.id);
    expect(after).toMatchObject({ state: 'FAILED', closedAt: rig.now });
    for (const [index, itemBefore] of order.items.entries())
      expect(after.items[index]).toMatchObject(
        itemBefore.state === 'WAITING'
          ? { state: 'FAILED', result: { summary: { code: 'pause_expired' } } }
          : itemBefore,
      );
    expect(await resume(order.id, 'U0BOB')).toMatchObject({ refusal: { code: 'not_paused' } });
  });

  it('pauses after a wave with more than a tenth unknown, and the rest can be stopped', async () => {
    const lostNames = ['n5.rest', 'n9.rest', 'n13.rest'];
    rig.service.answer = async ({ ctid }) => {
      if (lostNames.includes(getNameOfRow(ctid))) throw newServiceError('unknown_outcome');
      return SUCCESS_ENVELOPE;
    };
    const order = await createApprovedOrder(createRenewalRows(40));
    await rig.runDue();
    const paused = await rig.read(order.id);
    expect(paused.bulk?.pause).toMatchObject({ code: 'unknown', wave: 1, rows: 20 });
    expect(countStates(paused)['UNKNOWN']).toBe(3);
    await stopOrder(rig.orders, order.id, 'U0ALICE');
    const after = await rig.read(order.id);
    expect(after.state).toBe('UNKNOWN');
    expect(countStates(after)['WAITING']).toBeUndefined();
  });

  it('pauses for 72 hours if too many rows are unknown when a worker claims it', async () => {
    const order = await createApprovedOrder(createRenewalRows(30));
    await rig.sql(`UPDATE order_items SET state = 'UNKNOWN' WHERE order_id = $1 AND n <= 3`, order.id);
    await rig.main.execute(order.id);
    expect(rig.service.received).toEqual([]);
    expect(await rig.read(order.id)).toMatchObject({
      bulk: { pause: { code: 'unknown' } },
      expiresAt: new Date(rig.now.getTime() + 72 * HOUR_MS),
    });
  });

  it('delays the wave while the service is busy, without losing rows', async () => {
    let busyResponsesLeft = 3;
    rig.service.answer = async () => {
      busyResponsesLeft -= 1;
      if (busyResponsesLeft >= 0) throw newServiceError('busy', { retryAfterMs: 5_000 });
      return SUCCESS_ENVELOPE;
    };
    const order = await createApprovedOrder(createRenewalRows(25));
    await rig.runDue();
    expect(countStates(await rig.read(order.id))['SUCCEEDED'], 'rows done before the retry').toBe(17);
    rig.advanceClock(MINUTE_MS);
    await rig.runDue();
    expect(await rig.read(order.id)).toMatchObject({ state: 'SUCCEEDED' });
  });
});

describe('a process that dies', () => {
  it('leaves sent rows unknown, and another process sends the rest', async () => {
    const dyingProcess = rig.startProcess();
    const execute = dyingProcess.execute.bind(dyingProcess);
    rig.service.answer = async ({ ctid }, signal) =>
      getNameOfRow(ctid) === 'n6.rest' ? failOnAbort(signal) : SUCCESS_ENVELOPE;
    const order = await createApprovedOrder(createRenewalRows(30));
    // Row 6 gets no response, so the next process finds it marked as sent.
    const execution = execute(order.id);
    await waitUntil('all but one row of the first wave have ended', async () => {
      const { SENT: sent, SUCCEEDED: done } = countStates(await rig.read(order.id));
      return sent === 1 && done === 19;
    });
    rig.advanceClock(2 * MINUTE_MS);
    await rig.recover();
    expect((await rig.read(order.id)).items[5]).toMatchObject({ state: 'UNKNOWN' });
    rig.service.answer = async () => SUCCESS_ENVELOPE;
    await rig.runDue();
    const after = await rig.read(order.id);
    expect(countStates(after)).toEqual({ SUCCEEDED: 29, UNKNOWN: 1 });
    expect(rig.service.received).toHaveLength(30);
    dyingProcess.shutDown();
    await execution;
    expect(rig.service.received).toHaveLength(30);
  });
});
