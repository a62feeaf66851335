import { describe, expect, it } from 'vitest';
import { SANDBOX_TRANSFERABLE_DOMAIN } from '../src/accounts.ts';
import { addYears } from '../src/clock.ts';
import { buildDomainPayload, START, startSandbox, type TestSandbox } from './sandbox.ts';

const DAY = 86_400_000;

function getExpiry({ service }: TestSandbox, name: string): string | undefined {
  const expires = service.state.findDomain(name, 4)?.expires;
  return expires === undefined ? undefined : new Date(expires).toISOString().slice(0, 10);
}

describe('the lifecycle of a domain', () => {
  it('allows a restore for 30 days after deletion, and a registration 5 days later', async () => {
    const { service, sendJson, advanceClock } = await startSandbox();
    await sendJson('DELETE', '/domain/tavern.rest');
    const restore = async () => (await sendJson('POST', '/domain/tavern.rest/_restore')).status;
    advanceClock(30 * DAY - 1);
    expect(service.state.findDomain('tavern.rest', 4)?.status).toBe('redemption');
    advanceClock(1);
    expect(service.state.findDomain('tavern.rest', 4)?.status).toBe('pending_delete');
    expect(await restore()).toBe(409);
    const registration = { ...buildDomainPayload('tavern.rest'), confirmOrder: true };
    expect((await sendJson('POST', '/domain', registration)).status).toBe(409);
    advanceClock(5 * DAY);
    expect(service.state.findDomain('tavern.rest', 4)).toBeUndefined();
    expect(await restore()).toBe(404);
    expect((await sendJson('POST', '/domain', registration)).status).toBe(200);
  });

  it('adds a year to a restored domain that had expired', async () => {
    const sandbox = await startSandbox();
    await sandbox.sendJson('DELETE', '/domain/bar.rest');
    sandbox.advanceClock(20 * DAY);
    await sandbox.sendJson('POST', '/domain/bar.rest/_restore');
    expect(getExpiry(sandbox, 'bar.rest')).toBe('2028-03-04');
  });

  it('renews an expired domain from its old date for 45 days, then automatically', async () => {
    const sandbox = await startSandbox();
    const { service, sendJson, advanceClock } = sandbox;
    service.state.addDomain({ name: 'left.rest', context: 4, expires: START + DAY });
    service.state.addDomain({ name: 'kept.rest', context: 4, expires: START + DAY });
    advanceClock(2 * DAY);
    expect(service.state.findDomain('left.rest', 4)?.status).toBe('auto_renew_grace');
    expect((await sendJson('POST', '/domain/kept.rest/_renew', { period: 2 })).status).toBe(200);
    expect(getExpiry(sandbox, 'kept.rest')).toBe('2029-02-28');
    advanceClock(44 * DAY - 1);
    expect(getExpiry(sandbox, 'left.rest')).toBe('2027-02-28');
    advanceClock(1);
    expect(service.state.findDomain('left.rest', 4)?.status).toBe('registered');
    expect(getExpiry(sandbox, 'left.rest')).toBe('2028-02-28');
  });

  it('never extends a registration beyond ten years', async () => {
    const sandbox = await startSandbox();
    sandbox.service.state.addDomain({ name: 'long.rest', context: 4, expires: addYears(START, 8) });
    const renew = (period: number) => sandbox.sendJson('POST', '/domain/long.rest/_renew', { period });
    expect((await renew(3)).body.status?.text).toMatch(/more than 10 years/);
    expect((await renew(2)).status).toBe(200);
    expect((await renew(1)).status).toBe(422);
    expect(getExpiry(sandbox, 'long.rest')).toBe('2037-02-27');
  });

  it('completes a transfer after 5 days, with an additional year, once', async () => {
    const sandbox = await startSandbox();
    const { service, sendJson, advanceClock } = sandbox;
    const { name, authCode: auth } = SANDBOX_TRANSFERABLE_DOMAIN;
    const transfer = () => sendJson('POST', '/domain/_transfer', { ...buildDomainPayload(name), auth });
    const initialExpiry = getExpiry(sandbox, name);
    expect((await transfer()).status).toBe(200);
    expect((await transfer()).body.status?.text).toMatch(/is being transferred/);
    expect((await sendJson('POST', `/domain/${name}/_renew`, { period: 1 })).status).toBe(404);
    advanceClock(5 * DAY - 1);
    expect(service.state.findDomain(name, 4)?.group).toBe('elsewhere');
    advanceClock(1);
    expect(service.state.findDomain(name, 4)).toMatchObject({ group: 'steward', ownerc: 1001 });
    expect(service.state.findDomain(name, 4)).not.toHaveProperty('pendingTransfer');
    expect([initialExpiry, getExpiry(sandbox, name)]).toEqual(['2027-05-28', '2028-05-28']);
    expect((await transfer()).status).toBe(409);
    expect(service.state.charges).toHaveLength(1);
  });

  it('locks transfers for 60 days after a registration or owner change', async () => {
    const { service, sendJson, advanceClock } = await startSandbox();
    await sendJson('POST', '/domain', { ...buildDomainPayload('new.rest'), confirmOrder: true });
    service.state.addDomain({
      name: 'fresh.rest',
      context: 4,
      group: 'elsewhere',
      authCode: 'code',
      transferLockUntil: START + 60 * DAY,
    });
    const transfer = () =>
      sendJson('POST', '/domain/_transfer', { ...buildDomainPayload('fresh.rest'), auth: 'code' });
    advanceClock(59 * DAY);
    expect(service.state.findDomain('new.rest', 4)?.isTransferLocked).toBe(true);
    expect((await transfer()).body.status?.text).toMatch(/locked against transfers/);
    advanceClock(DAY);
    expect(service.state.findDomain('new.rest', 4)?.isTransferLocked).toBe(false);
    expect((await transfer()).status).toBe(200);
    await sendJson('POST', '/domain/new.rest/_ownerChange');
    advanceClock(59 * DAY);
    expect(service.state.findDomain('new.rest', 4)?.isTransferLocked).toBe(true);
  });

  it('applies the general rules to other zones', async () => {
    const { sendJson } = await startSandbox();
    const create = (name: string, servers: number) => {
      const nameServers = Array.from({ length: servers }, (_, index) => ({ name: `ns${index}.dns.example` }));
      return sendJson('POST', '/domain', { ...buildDomainPayload(name), nameServers, confirmOrder: true });
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
