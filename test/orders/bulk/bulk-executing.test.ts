import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { approveOrder, resumeOrder } from '../../../src/approvals/approve.ts';
import { denyOrder } from '../../../src/approvals/deny.ts';
import { readBulkFile } from '../../../src/orders/bulk/read-csv.ts';
import { isPaused } from '../../../src/orders/bulk/waves.ts';
import { confirmOrder } from '../../../src/orders/confirm-draft.ts';
import type { Order } from '../../../src/orders/order.ts';
import { stopOrder } from '../../../src/orders/stop.ts';
import { Secret } from '../../../src/service/secret.ts';
import { refusalText } from '../../../src/slack/orders/refusal.view.ts';
import { acceptedOf, gate, HOUR_MS, MINUTE_MS, type Rig, startRig, until } from '../rig.ts';
import { buildRenewal } from '../sample.ts';
import { DONE, fails, type ScriptedService, untilAborted } from '../scripted-service.ts';

/* Bulk orders on the real store. */

let rig: Rig;
beforeAll(async () => {
  rig = await startRig();
});
beforeEach(() => rig.reset());
afterAll(() => rig.end());

const names = (count: number) => Array.from({ length: count }, (_, index) => `n${index + 1}.rest`);
const renewals = (count: number) =>
  names(count).map((name) => ({ name, input: { names: [name], period: 1 } }));

type Row = { readonly name: string; readonly input: unknown; readonly secret?: Secret };

/** A draft of Alice's for these rows. */
async function draft(
  rows: readonly Row[],
  task: 'renew' | 'nameservers' | 'transfer' = 'renew',
): Promise<Order> {
  const bulk = { rows: rows.map(({ secret, ...row }) => ({ ...row, secret })), findings: [], skipped: 0 };
  return acceptedOf(await rig.request(task, {}, { bulk }));
}

async function approved(rows: readonly Row[], task?: 'renew' | 'nameservers' | 'transfer'): Promise<Order> {
  const { id } = await draft(rows, task);
  const confirmed = await confirmOrder(rig.orders, id, 'U0ALICE');
  if (confirmed.kind !== 'confirmed') throw new Error(`confirming it: ${confirmed.kind}`);
  if (confirmed.order.state === 'APPROVED') return confirmed.order;
  const outcome = await approveOrder(rig.orders, id, 'U0BOB');
  if (!outcome.ok) throw new Error(refusalText(outcome.refusal));
  return outcome.order;
}

const nameOf = (ctid: string) => `n${ctid.split('.')[1]}.rest`;
/** Refuses some names. */
const refuse = (...refused: readonly string[]): ScriptedService['answer'] => {
  return async ({ ctid }) => {
    if (refused.includes(nameOf(ctid))) throw fails('refused', { code: 'EF01055', httpStatus: 400 });
    return DONE;
  };
};
const statesOf = (order: Order) => order.items.map(({ state }) => state);
const tally = (order: Order) =>
  Object.fromEntries(
    [...new Set(statesOf(order))].map((state) => [
      state,
      statesOf(order).filter((each) => each === state).length,
    ]),
  );

describe('a plan', () => {
  it('starts as a draft, keeps its rows and their hash, and is approved by that hash', async () => {
    const order = await draft(renewals(3));
    expect(order.state).toBe('DRAFT');
    const kept = await rig.read(order.id);
    expect(kept.items.map(({ ctid, name, input }) => [ctid, name, input])).toEqual(
      names(3).map((name, index) => [`${order.id}.${index + 1}`, name, { names: [name], period: 1 }]),
    );
    expect(kept.statementHash).toMatch(/^[0-9a-f]{64}$/);
    expect(kept.bulk).toMatchObject({ waveSize: 20, unreviewedFrom: 1 });
    await confirmOrder(rig.orders, order.id, 'U0ALICE');
    await approveOrder(rig.orders, order.id, 'U0BOB');
    const history = await rig.store.loadHistory(order.id, 'system');
    const statement = kept.statementHash;
    expect(history[0]).toMatchObject({ statement, rows: 3 });
    expect(history.find(({ kind }) => kind === 'approved')).toMatchObject({ statement });
  });

  it('is refused as a whole if one of its names has an open order now', async () => {
    const order = await draft(renewals(3));
    const open = await rig.ask('renew', { names: ['n2.rest'], period: 1 });
    expect(await confirmOrder(rig.orders, order.id, 'U0ALICE')).toMatchObject({
      kind: 'already_open',
      order: { id: open.id },
    });
  });

  it('isn’t sent if a row has changed since the approval', async () => {
    const order = await approved(renewals(3));
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

describe('its rows', () => {
  it('are read again before each wave: a changed one stops the rest', async () => {
    const order = await approved(renewals(45));
    rig.service.answer = async ({ ctid }) => {
      if (ctid === `${order.id}.3`)
        await rig.sql(
          `UPDATE order_items SET input = '{"names":["n25.rest"],"period":9}' WHERE order_id = $1 AND n = 25`,
          order.id,
        );
      return DONE;
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
    let out = 0;
    let most = 0;
    const four = gate();
    rig.service.answer = async () => {
      out += 1;
      most = Math.max(most, out);
      if (out === 4) four.open();
      await four.opened;
      out -= 1;
      return DONE;
    };
    const rows = names(45).map((name, index) => ({
      name,
      input: { names: [name], period: (index % 3) + 1 },
    }));
    const order = await approved(rows);
    await rig.runDue();
    expect(await rig.read(order.id)).toMatchObject({ state: 'SUCCEEDED' });
    expect(most).toBe(4);
    expect(rig.service.received).toHaveLength(45);
    for (const [index, { name, input }] of rows.entries()) {
      const sent = rig.service.received.filter(({ ctid }) => ctid === `${order.id}.${index + 1}`);
      expect(sent.map(({ description }) => description)).toEqual([buildRenewal(name, input.period)]);
    }
  });

  it('are sent wave by wave', async () => {
    const began: number[] = [];
    const ended: number[] = [];
    rig.service.answer = async ({ ctid }) => {
      const n = Number(ctid.split('.')[1]);
      began.push(n);
      expect(ended.length, `row ${n} waits for the waves before its own`).toBeGreaterThanOrEqual(
        Math.floor((n - 1) / 20) * 20,
      );
      await new Promise((resolve) => setImmediate(resolve));
      ended.push(n);
      return DONE;
    };
    const order = await approved(renewals(61));
    await rig.main.execute(order.id);
    expect(began, 'with one claim').toHaveLength(61);
  });

  it('have their own auth codes, sealed until their row ends and wiped then', async () => {
    const read = await readBulkFile(
      'transfer',
      `name,auth,ownerc,adminc,techc,nameservers\n${names(6)
        .map((name, index) => `${name},CANARY-${index + 1},1,2,3,ns1.example.net ns2.example.net`)
        .join('\n')}`,
    );
    if (!read.ok) throw new Error(JSON.stringify(read.issues));
    rig.service.answer = refuse('n2.rest');
    const order = await approved(
      read.rows.map(({ name, input, secret }) => ({ name, input, ...(secret && { secret }) })),
      'transfer',
    );
    const sealed = () =>
      rig.sql(
        'SELECT n FROM order_items WHERE order_id = $1 AND sealed_input IS NOT NULL ORDER BY n',
        order.id,
      );
    expect(await sealed()).toHaveLength(6);
    expect(await rig.everything()).not.toContain('CANARY');
    await rig.runDue();
    const sent = rig.service.received.map(({ description }) =>
      'body' in description ? description.body : undefined,
    );
    expect(sent).toHaveLength(6);
    for (const [index, name] of names(6).entries()) {
      const wire = sent.find((each) => JSON.stringify(each).includes(`"${name}"`));
      const auth = typeof wire === 'object' && wire !== null && 'auth' in wire ? wire['auth'] : undefined;
      expect(auth instanceof Secret && auth.reveal()).toBe(`CANARY-${index + 1}`);
    }
    expect(await sealed()).toEqual([]);
    expect(rig.logged() + (await rig.everything())).not.toContain('CANARY');
  });

  it('lose their auth codes when the order is denied, or deleted as a draft', async () => {
    const rows = [{ name: 'a.rest', secret: new Secret('CANARY') }].map(({ name, secret }) => ({
      name,
      secret,
      input: { name, ownerc: 1, adminc: 2, techc: 3, nameServers: ['ns1.example.net', 'ns2.example.net'] },
    }));
    const order = await draft(rows, 'transfer');
    await confirmOrder(rig.orders, order.id, 'U0ALICE');
    await denyOrder(rig.orders, order.id, 'U0BOB', undefined);
    const sealed = () => rig.sql('SELECT n FROM order_items WHERE sealed_input IS NOT NULL');
    expect(await sealed()).toEqual([]);
    await draft(rows, 'transfer');
    expect(await sealed()).toHaveLength(1);
    rig.pass(16 * MINUTE_MS);
    await rig.recover();
    expect(await sealed()).toEqual([]);
  });
});

describe('after too many failures', () => {
  it('three refusals in a row pause it, and a person resumes it', async () => {
    rig.service.answer = refuse('n3.rest', 'n4.rest', 'n5.rest', 'n6.rest', 'n7.rest', 'n8.rest');
    const order = await approved(renewals(30));
    await rig.runDue();
    const paused = await rig.read(order.id);
    expect(paused).toMatchObject({ state: 'APPROVED', bulk: { pause: { code: 'refusals' } } });
    const { FAILED: failed = 0 } = tally(paused);
    expect(failed, 'four were on their way at most').toBeLessThanOrEqual(6);
    expect(paused.items.filter(({ state }) => state === 'WAITING').length).toBeGreaterThanOrEqual(22);
    expect(await rig.due(order.id), 'when the pause ends').toMatchObject({
      work: new Date(rig.now.getTime() + 72 * HOUR_MS),
    });

    const sent = rig.service.received.length;
    await rig.runDue();
    await rig.main.execute(order.id);
    expect(rig.service.received, 'nothing more is sent').toHaveLength(sent);

    expect(await resumeOrder(rig.orders, order.id, 'U0EVE')).toMatchObject({
      ok: false,
      refusal: { code: 'not_an_approver', action: 'resume' },
    });
    rig.service.answer = async () => DONE;
    expect(await resumeOrder(rig.orders, order.id, 'U0BOB')).toMatchObject({ ok: true });
    await rig.runDue();
    const after = await rig.read(order.id);
    expect(after.state).toBe('FAILED');
    expect(tally(after)).toEqual({ SUCCEEDED: 30 - failed, FAILED: failed });
    expect(new Set(rig.service.received.map(({ ctid }) => ctid)).size).toBe(30);
    expect(rig.service.received).toHaveLength(30);
    expect(await resumeOrder(rig.orders, order.id, 'U0BOB')).toMatchObject({
      refusal: { code: 'not_paused' },
    });
  });

  /** An order of 30 rows that Bob approved, paused after three refusals. */
  async function pausedOrder(): Promise<Order> {
    rig.service.answer = refuse('n3.rest', 'n4.rest', 'n5.rest');
    const { id } = await approved(renewals(30));
    await rig.runDue();
    const order = await rig.read(id);
    expect(isPaused(order)).toBe(true);
    rig.service.answer = async () => DONE;
    return order;
  }
  const resume = (orderId: string, userId: string) => resumeOrder(rig.orders, orderId, userId);
  /** Continues, and returns how many of the waiting rows were sent. */
  async function sentAfter(order: Order): Promise<number> {
    const before = rig.service.received.length;
    await rig.runDue();
    await rig.main.execute(order.id);
    return rig.service.received.length - before;
  }

  it('a policy that has become stricter applies again: Go on gives each missing approval', async () => {
    const order = await pausedOrder();
    rig.setPolicy(5, { decision: 'approve', approvers: ['U0DORA', 'U0FAY'], needed: 2 });
    expect(await resume(order.id, 'U0ALICE')).toMatchObject({ refusal: { code: 'approvals_missing' } });
    expect(await resume(order.id, 'U0EVE')).toMatchObject({ refusal: { code: 'not_an_approver' } });
    const first = await resume(order.id, 'U0DORA');
    expect(first.ok && isPaused(first.order), 'kept, and not enough').toBe(true);
    expect(await resume(order.id, 'U0ALICE')).toMatchObject({ refusal: { code: 'approvals_missing' } });
    expect(await resume(order.id, 'U0DORA')).toMatchObject({ ok: false });
    expect(await sentAfter(order)).toBe(0);
    await resume(order.id, 'U0FAY');
    expect(await sentAfter(order)).toBe(tally(order)['WAITING']);
  });

  it('it ends if nobody resumes it in time: sent rows keep their results, the rest isn’t sent', async () => {
    const order = await pausedOrder();
    rig.pass(72 * HOUR_MS - 1);
    expect(await sentAfter(order)).toBe(0);
    expect(isPaused(await rig.read(order.id))).toBe(true);
    rig.pass(1);
    expect(await resume(order.id, 'U0ALICE')).toMatchObject({ refusal: { code: 'order_expired' } });
    expect(await sentAfter(order)).toBe(0);
    const after = await rig.read(order.id);
    expect(after).toMatchObject({ state: 'FAILED', closedAt: rig.now });
    for (const [index, was] of order.items.entries())
      expect(after.items[index]).toMatchObject(
        was.state === 'WAITING' ? { state: 'FAILED', result: { summary: { code: 'pause_expired' } } } : was,
      );
    expect(await resume(order.id, 'U0BOB')).toMatchObject({ refusal: { code: 'not_paused' } });
  });

  it('a wave with more than a tenth unknown pauses it; the rest can be stopped', async () => {
    const lost = ['n5.rest', 'n9.rest', 'n13.rest'];
    rig.service.answer = async ({ ctid }) => {
      if (lost.includes(nameOf(ctid))) throw fails('unknown_outcome');
      return DONE;
    };
    const order = await approved(renewals(40));
    await rig.runDue();
    const paused = await rig.read(order.id);
    expect(paused.bulk?.pause).toMatchObject({ code: 'unknown', wave: 1, rows: 20 });
    expect(tally(paused)['UNKNOWN']).toBe(3);
    await stopOrder(rig.orders, order.id, 'U0ALICE');
    const after = await rig.read(order.id);
    expect(after.state).toBe('UNKNOWN');
    expect(tally(after)['WAITING']).toBeUndefined();
  });

  it('unknown rows found at the claim pause it for as long', async () => {
    const order = await approved(renewals(30));
    await rig.sql(`UPDATE order_items SET state = 'UNKNOWN' WHERE order_id = $1 AND n <= 3`, order.id);
    await rig.main.execute(order.id);
    expect(rig.service.received).toEqual([]);
    expect(await rig.read(order.id)).toMatchObject({
      bulk: { pause: { code: 'unknown' } },
      expiresAt: new Date(rig.now.getTime() + 72 * HOUR_MS),
    });
  });

  it('a busy service delays the wave, and nothing is lost', async () => {
    let busy = 3;
    rig.service.answer = async () => {
      busy -= 1;
      if (busy >= 0) throw fails('busy', { retryAfterMs: 5_000 });
      return DONE;
    };
    const order = await approved(renewals(25));
    await rig.runDue();
    expect(tally(await rig.read(order.id))['SUCCEEDED'], 'the second wave waits for the first').toBe(17);
    rig.pass(MINUTE_MS);
    await rig.runDue();
    expect(await rig.read(order.id)).toMatchObject({ state: 'SUCCEEDED' });
  });
});

describe('a process that dies', () => {
  it('leaves sent rows unknown; another one continues with the rest, or waits for a person', async () => {
    const dying = rig.startProcess();
    const started = dying.execute.bind(dying);
    rig.service.answer = async ({ ctid }, signal) =>
      nameOf(ctid) === 'n6.rest' ? untilAborted(signal) : DONE;
    const order = await approved(renewals(30));
    // Its commits are lost with it: the next process finds the rows marked as sent.
    const running = started(order.id);
    await until('all of the first wave but one have ended', async () => {
      const { SENT: sent, SUCCEEDED: done } = tally(await rig.read(order.id));
      return sent === 1 && done === 19;
    });
    rig.pass(2 * MINUTE_MS);
    await rig.recover();
    expect((await rig.read(order.id)).items[5]).toMatchObject({ state: 'UNKNOWN' });
    rig.service.answer = async () => DONE;
    await rig.runDue();
    const after = await rig.read(order.id);
    expect(tally(after)).toEqual({ SUCCEEDED: 29, UNKNOWN: 1 });
    expect(rig.service.received).toHaveLength(30);
    dying.shutDown();
    await running;
    expect(rig.service.received).toHaveLength(30);
  });
});
