import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { closeSandboxes, startSandbox } from './sandbox.ts';

let folder = '';
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'sandbox-'));
});
afterEach(async () => {
  await closeSandboxes();
  await rm(folder, { recursive: true, force: true });
});

describe('the state file', () => {
  it('is loaded at the next start, and readable only by its owner', async () => {
    const stateFile = join(folder, 'deeper', 'state.json');
    const first = await startSandbox({ stateFile });
    await first.sendJson('POST', '/domain/cafe.rest/_renew?ctid=o1', { period: 2 });
    await first.sendJson('POST', '/user', { user: 'erin', context: 4, defaultEmail: 'e@team.example' });
    await first.sendJson('DELETE', '/domain/bar.rest');
    const savedData = structuredClone(first.service.state.data);
    await first.service.close();
    expect((await stat(stateFile)).mode & 0o777).toBe(0o600);
    expect(await readdir(join(folder, 'deeper')), 'files in the folder').toEqual(['state.json']);

    const second = await startSandbox({ stateFile, users: [{ user: 'late', context: 4, password: 'x' }] });
    expect(second.service.state.data).toEqual(savedData);
    expect(second.service.state.charges).toMatchObject([{ name: 'cafe.rest', years: 2, ctid: 'o1' }]);
    const { body } = await second.sendJson('POST', '/domain/bar.rest/_restore');
    expect(body.stid, 'next transaction ID').toBe('20270227-sandbox1-4');
  });

  it('restores the port', async () => {
    const stateFile = join(folder, 'state.json');
    const first = await startSandbox({ stateFile });
    await first.service.close();
    const second = await startSandbox({ stateFile });
    expect(second.service.jsonUrl).toBe(first.service.jsonUrl);
    const third = await startSandbox({ stateFile });
    expect(third.service.jsonUrl, 'another port if that one is taken').not.toBe(first.service.jsonUrl);
  });

  it('is written soon after a change, without closing', async () => {
    const stateFile = join(folder, 'state.json');
    const { sendJson } = await startSandbox({ stateFile });
    await sendJson('DELETE', '/domain/bar.rest');
    const writtenState = await vi.waitFor(async () => JSON.parse(await readFile(stateFile, 'utf8')), 5_000);
    expect(JSON.stringify(writtenState)).toContain('"deletedAt":1803729600000');
  });

  it('is refused and left unchanged if it is invalid', async () => {
    const stateFile = join(folder, 'state.json');
    await writeFile(stateFile, '{"version":1}');
    await expect(startSandbox({ stateFile })).rejects.toThrow(
      /state\.json is not a sandbox's state; remove it/,
    );
    expect(await readFile(stateFile, 'utf8')).toBe('{"version":1}');
  });

  it('reports a failed write when the service closes', async () => {
    const { service, sendJson } = await startSandbox({ stateFile: join(folder, 'state.json') });
    await rm(folder, { recursive: true });
    await writeFile(folder, 'in the way');
    await sendJson('DELETE', '/domain/bar.rest');
    await expect(service.close()).rejects.toThrow(/keeping the sandbox's state/);
    await rm(folder);
  });
});
