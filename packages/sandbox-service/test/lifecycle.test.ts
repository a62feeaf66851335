import { describe, expect, it } from 'vitest';
import { SANDBOX_TRANSFER } from '../src/accounts.ts';
import { addYears } from '../src/clock.ts';
import { newDelegation, type SandboxRig, START, startSandbox } from './sandbox.ts';

const DAY = 86_400_000;

function getExpiry({ service }: SandboxRig, name: string): string | undefined {
  const expires = service.state.domain(name, 4)?.expires;
  return expires === undefined ? undefined : new Date(expires).toISOString().slice(0, 10);
}

describe('the lifecycle of a domain', () => {
  it('allows a restore for 30 days after deletion, and a registration 5 days later', async () => {
    const { service, json, pass } = await startSandbox();
    await json('DELETE', '/domain/tavern.rest');
    const restore = async () => (await json('POST', '/domain/tavern.rest/_restore')).status;
    pass(30 * DAY - 1);
    expect(service.state.domain('tavern.rest', 4)?.status).toBe('redemption');
    pass(1);
    expect(service.state.domain('tavern.rest', 4)?.status).toBe('pending_delete');
    expect(await restore()).toBe(409);
    const create = { ...newDelegation('tavern.rest'), confirmOrder: true };
    expect((await json('POST', '/domain', create)).status).toBe(409);
    pass(5 * DAY);
    expect(service.state.domain('tavern.rest', 4)).toBeUndefined();
    expect(await restore()).toBe(404);
    expect((await json('POST', '/domain', create)).status).toBe(200);
  });

  it('adds a year to a restored domain that had expired', async () => {
    const bench = await startSandbox();
    await bench.json('DELETE', '/domain/bar.rest');
    bench.pass(20 * DAY);
    await bench.json('POST', '/domain/bar.rest/_restore');
    expect(getExpiry(bench, 'bar.rest')).toBe('2028-03-04');
  });

  it('renews an expired domain from its old date for 45 days, then automatically', async () => {
    const bench = await startSandbox();
    const { service, json, pass } = bench;
    service.state.addDomain({ name: 'left.rest', context: 4, expires: START + DAY });
    service.state.addDomain({ name: 'kept.rest', context: 4, expires: START + DAY });
    pass(2 * DAY);
    expect(service.state.domain('left.rest', 4)?.status).toBe('auto_renew_grace');
    expect((await json('POST', '/domain/kept.rest/_renew', { period: 2 })).status).toBe(200);
    expect(getExpiry(bench, 'kept.rest')).toBe('2029-02-28');
    pass(44 * DAY - 1);
    expect(getExpiry(bench, 'left.rest')).toBe('2027-02-28');
    pass(1);
    expect(service.state.domain('left.rest', 4)?.status).toBe('registered');
    expect(getExpiry(bench, 'left.rest')).toBe('2028-02-28');
  });

  it('never extends a registration beyond ten years', async () => {
    const bench = await startSandbox();
    bench.service.state.addDomain({ name: 'long.rest', context: 4, expires: addYears(START, 8) });
    const renew = (period: number) => bench.json('POST', '/domain/long.rest/_renew', { period });
    expect((await renew(3)).body.status?.text).toMatch(/more than 10 years/);
    expect((await renew(2)).status).toBe(200);
    expect((await renew(1)).status).toBe(422);
    expect(getExpiry(bench, 'long.rest')).toBe('2037-02-27');
  });

  it('completes a transfer after 5 days, with an additional year, once', async () => {
    const bench = await startSandbox();
    const { service, json, pass } = bench;
    const { name, authCode: auth } = SANDBOX_TRANSFER;
    const transfer = () => json('POST', '/domain/_transfer', { ...newDelegation(name), auth });
    const before = getExpiry(bench, name);
    expect((await transfer()).status).toBe(200);
    expect((await transfer()).body.status?.text).toMatch(/is being transferred/);
    expect((await json('POST', `/domain/${name}/_renew`, { period: 1 })).status).toBe(404);
    pass(5 * DAY - 1);
    expect(service.state.domain(name, 4)?.group).toBe('elsewhere');
    pass(1);
    expect(service.state.domain(name, 4)).toMatchObject({ group: 'steward', ownerc: 1001 });
    expect(service.state.domain(name, 4)).not.toHaveProperty('pendingTransfer');
    expect([before, getExpiry(bench, name)]).toEqual(['2027-05-28', '2028-05-28']);
    expect((await transfer()).status).toBe(409);
    expect(service.state.charges).toHaveLength(1);
  });

  it('locks transfers for 60 days after a registration or owner change', async () => {
    const { service, json, pass } = await startSandbox();
    await json('POST', '/domain', { ...newDelegation('new.rest'), confirmOrder: true });
    const other = { group: 'elsewhere', authCode: 'code' };
    service.state.addDomain({
      ...other,
      name: 'fresh.rest',
      context: 4,
      transferLockUntil: START + 60 * DAY,
    });
    const transfer = () =>
      json('POST', '/domain/_transfer', { ...newDelegation('fresh.rest'), auth: 'code' });
    pass(59 * DAY);
    expect(service.state.domain('new.rest', 4)?.isTransferLocked).toBe(true);
    expect((await transfer()).body.status?.text).toMatch(/locked against transfers/);
    pass(DAY);
    expect(service.state.domain('new.rest', 4)?.isTransferLocked).toBe(false);
    expect((await transfer()).status).toBe(200);
    await json('POST', '/domain/new.rest/_ownerChange');
    pass(59 * DAY);
    expect(service.state.domain('new.rest', 4)?.isTransferLocked).toBe(true);
  });

  it('uses the general rules for other zones', async () => {
    const { json } = await startSandbox();
    const create = (name: string, servers: number) => {
      const nameServers = Array.from({ length: servers }, (_, index) => ({ name: `ns${index}.dns.example` }));
      return json('POST', '/domain', { ...newDelegation(name), nameServers, confirmOrder: true });
    };
    expect((await create('one.example', 1)).status).toBe(200);
    expect((await create('sub.two.example', 13)).status).toBe(200);
    expect((await create('three.example', 14)).status).toBe(422);
    expect((await create('four.example', 0)).status).toBe(422);
  });

  it('moves a leap day to 28 February in other years', () => {
    expect(new Date(addYears(Date.UTC(2028, 1, 29), 1)).toISOString()).toMatch(/^2029-02-28/);
    expect(new Date(addYears(Date.UTC(2028, 1, 29), 4)).toISOString()).toMatch(/^2032-02-29/);
  });
});
