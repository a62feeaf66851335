import { describe, expect, it } from 'vitest';
import { START, startSandbox } from './sandbox.ts';

const DAY = 86_400_000;

describe('the registry’s RDAP server', () => {
  it('is listed in its bootstrap file', async () => {
    const { service, fetchRdap } = await startSandbox();
    const { body } = await fetchRdap('bootstrap.json');
    const base = service.rdapBootstrapUrl.replace('bootstrap.json', '');
    expect(body).toMatchObject({ version: '1.0', services: [[['rest', 'example'], [base]]] });
  });

  it('returns the dates and status of a domain', async () => {
    const { fetchRdap, service } = await startSandbox();
    const { headers, body } = await fetchRdap('domain/CAFE.rest');
    expect(headers['content-type']).toBe('application/rdap+json');
    expect(body).toMatchObject({
      objectClassName: 'domain',
      ldhName: 'cafe.rest',
      status: ['active'],
      events: expect.arrayContaining([
        { eventAction: 'registration', eventDate: new Date(START - 400 * DAY).toISOString() },
        { eventAction: 'expiration', eventDate: new Date(START + 23 * DAY).toISOString() },
      ]),
    });
    expect((await fetchRdap('domain/expired.rest')).body['status']).toEqual(['auto renew period']);
    expect((await fetchRdap('domain/gone.rest')).body['status']).toEqual(['redemption period']);
    expect((await fetchRdap('domain/xn--mnchen-3ya.rest')).body['unicodeName']).toBe('münchen.rest');
    service.clock.setOffset(27 * DAY);
    expect((await fetchRdap('domain/gone.rest')).body['status']).toEqual(['pending delete']);
    service.clock.setOffset(30 * DAY);
    expect(await fetchRdap('domain/gone.rest')).toMatchObject({ status: 404, body: { errorCode: 404 } });
  });

  it('returns overridden records', async () => {
    const { fetchRdap, service } = await startSandbox();
    service.registry.show('cafe.rest', {
      registrar: { ianaId: '292', name: 'Example Registrar' },
      statuses: ['pending transfer'],
      owner: 'redacted',
      nameServers: ['ns1.thief.example'],
      isSigned: true,
    });
    service.registry.show('cafe.rest', { expires: START, transferredAt: START });
    const { body } = await fetchRdap('domain/cafe.rest');
    expect(body).toMatchObject({
      status: ['pending transfer'],
      nameservers: [{ ldhName: 'ns1.thief.example' }],
      secureDNS: { delegationSigned: true },
      entities: [{ roles: ['registrar'], publicIds: [{ identifier: '292' }] }, { roles: ['registrant'] }],
      events: expect.arrayContaining([
        { eventAction: 'expiration', eventDate: new Date(START).toISOString() },
        { eventAction: 'transfer', eventDate: new Date(START).toISOString() },
      ]),
    });
    service.registry.show('cafe.rest', { isGone: true });
    expect((await fetchRdap('domain/cafe.rest')).status).toBe(404);
    service.registry.clear('cafe.rest');
    service.registry.show('cafe.rest', { locks: ['client transfer prohibited'] });
    expect((await fetchRdap('domain/cafe.rest')).body).toMatchObject({
      status: ['active', 'client transfer prohibited'],
    });
    expect((await fetchRdap('domain/cafe.rest')).body).not.toHaveProperty('entities');
  });

  it('returns 404 for unknown names and names of the demo system', async () => {
    const { fetchRdap } = await startSandbox();
    expect((await fetchRdap('domain/nobody.rest')).status).toBe(404);
    expect((await fetchRdap('domain/try.rest')).status).toBe(404);
  });

  it('supports faults', async () => {
    const { fetchRdap, service } = await startSandbox();
    const fetchWithFault = async (fault: Parameters<typeof service.faults.set>[0]) => {
      service.faults.set({ times: 1, match: { task: 'rdap.domain' }, ...fault });
      return fetchRdap('domain/cafe.rest');
    };
    expect((await fetchWithFault({ kind: 'rdap_not_found' })).status).toBe(404);
    expect((await fetchWithFault({ kind: 'status_429', retryAfter: 3 })).headers['retry-after']).toBe('3');
    expect((await fetchWithFault({ kind: 'rdap_wrong_date' })).text).toContain(
      '"expiration","eventDate":"soon"',
    );
    expect((await fetchWithFault({ kind: 'redirect_307', location: '/rdap/domain/bar.rest' })).status).toBe(
      307,
    );
    expect((await fetchWithFault({ kind: 'wrong_type' })).body['events']).toEqual({ expiration: 7 });
    expect((await fetchWithFault({ kind: 'huge', bytes: 300_000 })).text.length).toBeGreaterThan(300_000);
    await expect(fetchWithFault({ kind: 'cut_json' })).rejects.toThrow(/JSON/);
    expect((await fetchWithFault({ kind: 'slow', delayMs: 5 })).status).toBe(200);
    expect(service.faults.list()).toEqual([]);
  });
});
