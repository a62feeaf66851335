import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { RELEASE } from '../../src/app/release.ts';

const runReleaseNotes = (tag: string) =>
  spawnSync(process.execPath, ['.ci/release-notes.mjs', tag], { encoding: 'utf8' });

test('release notes begin with the upgrade steps, and a tag of another version is refused', () => {
  const { status, stdout } = runReleaseNotes(`v${RELEASE}`);
  expect(status).toBe(0);
  expect(stdout).toMatch(/^\*\*Upgrading:\*\* /);
  expect(runReleaseNotes('v9.9.9')).toMatchObject({
    status: 1,
    stderr: expect.stringContaining('v9.9.9 is not that of'),
  });
});

test('the chart has the release’s version', () => {
  const chart = z.object({ version: z.string(), appVersion: z.string() });
  expect(chart.parse(parse(readFileSync('deploy/helm/domain-steward/Chart.yaml', 'utf8')))).toEqual({
    version: RELEASE,
    appVersion: RELEASE,
  });
});

test('the systemd unit runs the bot without privileges and with time to stop', () => {
  const unit = readFileSync('deploy/systemd/domain-steward.service', 'utf8');
  expect(unit).toContain('ExecStart=/usr/bin/node dist/main.js\n');
  expect(Number(/^TimeoutStopSec=(\d+)$/m.exec(unit)?.[1])).toBeGreaterThan(10);
  expect(unit).toContain('\nCapabilityBoundingSet=\n');
  expect(unit).not.toMatch(/^User=root/m);
  const { error, stderr } = spawnSync(
    'systemd-analyze',
    ['verify', 'deploy/systemd/domain-steward.service'],
    {
      encoding: 'utf8',
    },
  );
  // This machine may lack systemd-analyze, or the program that the unit starts.
  if (error === undefined)
    expect(stderr.replace(/.*is not executable.*\n/g, '')).not.toMatch(/domain-steward\.service/);
});

const composeServicesSchema = z.record(
  z.string(),
  z.looseObject({
    mem_limit: z.string(),
    restart: z.literal('unless-stopped'),
    logging: z.object({ options: z.object({ 'max-size': z.string(), 'max-file': z.string() }) }),
  }),
);

test.each(['deploy/compose.yml', 'deploy/compose.proxy.yml'])(
  'every service in %s has memory and log limits',
  (file) => {
    const composeFile = z
      .object({ services: composeServicesSchema })
      .parse(parse(readFileSync(file, 'utf8'), { merge: true }));
    expect(Object.keys(composeFile.services).length).toBeGreaterThan(0);
  },
);

test('the example proxy and the ingress forward only the public paths', () => {
  const proxy = readFileSync('deploy/compose.proxy.yml', 'utf8');
  const ingress = readFileSync('deploy/helm/domain-steward/templates/ingress.yaml', 'utf8');
  const [, proxyPaths = ''] = /@public path (.+)/.exec(proxy) ?? [];
  const [, ingressPaths = ''] = /range list (.+) \}\}/.exec(ingress) ?? [];
  const paths = ['/slack/events', '/calendar/', '/sign/', '/keys/'];
  expect(proxyPaths.split(' ').map((path) => path.replace(/\*$/, ''))).toEqual(paths);
  expect(ingressPaths.split(' ').map((path) => path.replaceAll('"', ''))).toEqual(paths);
});
