import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Deployment } from 'kubernetes-models/apps/v1';
import { CronJob } from 'kubernetes-models/batch/v1';
import { Ingress, NetworkPolicy } from 'kubernetes-models/networking.k8s.io/v1';
import { PodDisruptionBudget } from 'kubernetes-models/policy/v1';
import { ConfigMap, Service, ServiceAccount } from 'kubernetes-models/v1';
import { expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { z } from 'zod';
import { findHelm } from '../../.ci/helm.mjs';
import { VARIABLE_EXAMPLES } from '../../src/config/environment.ts';

/* Renders the chart with Helm and validates it against the Kubernetes API's schemas, without a cluster. */

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const CHART = join(ROOT, 'deploy/helm/domain-steward');
const helm = findHelm();

const ALL_VALUES = [
  'existingSecret=secrets',
  'settings.APPROVERS=U024BE7LH\\,S0614TZR7',
  'settings.APPROVALS_REQUIRED=2',
  ...[
    'ingress.enabled=true',
    'ingress.host=steward.example.com',
    'ingress.tlsSecret=tls',
    'ingress.className=nginx',
  ],
  ...['networkPolicy.enabled=true', 'networkPolicy.from[0].namespaceSelector.matchLabels.name=ingress'],
  ...['backup.enabled=true', 'backup.existingClaim=backups'],
];

const manifestSchema = z.looseObject({ apiVersion: z.string(), kind: z.string() });
type Manifest = z.output<typeof manifestSchema>;

function render(values: readonly string[]): Manifest[] {
  const args = ['template', 'steward', CHART, ...values.flatMap((value) => ['--set', value])];
  const text = execFileSync(helm ?? '', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
  return parseAllDocuments(text).map((document) => manifestSchema.parse(document.toJS()));
}

/** The API version of each kind, and a function that validates a manifest against the kind's schema. */
const KINDS: Readonly<Record<string, readonly [from: string, validate: (data: Manifest) => void]>> = {
  Deployment: ['apps/v1', (data) => new Deployment(data as never).validate()],
  CronJob: ['batch/v1', (data) => new CronJob(data as never).validate()],
  Ingress: ['networking.k8s.io/v1', (data) => new Ingress(data as never).validate()],
  NetworkPolicy: ['networking.k8s.io/v1', (data) => new NetworkPolicy(data as never).validate()],
  PodDisruptionBudget: ['policy/v1', (data) => new PodDisruptionBudget(data as never).validate()],
  ConfigMap: ['v1', (data) => new ConfigMap(data as never).validate()],
  Service: ['v1', (data) => new Service(data as never).validate()],
  ServiceAccount: ['v1', (data) => new ServiceAccount(data as never).validate()],
};

/** Compiles the manifests as literals of the API's types, because the schemas allow unknown fields. */
function findUnknownFields(manifests: readonly Manifest[]): string {
  const folder = join(ROOT, 'node_modules/.cache/domain-steward/chart');
  mkdirSync(folder, { recursive: true });
  try {
    const lines = manifests.map((data, n) => {
      const [apiVersion] = KINDS[data.kind] ?? [];
      return `import type { I${data.kind} as T${n} } from 'kubernetes-models/${apiVersion}';\nexport const m${n}: T${n} = ${JSON.stringify(data)};\n`;
    });
    writeFileSync(join(folder, 'manifests.ts'), lines.join(''));
    const tsc = join(ROOT, 'node_modules/typescript/bin/tsc');
    const options = ['--ignoreConfig', '--noEmit', '--strict', '--skipLibCheck', '--module', 'nodenext'];
    return spawnSync(process.execPath, [tsc, ...options, join(folder, 'manifests.ts')], { encoding: 'utf8' })
      .stdout;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

test('the chart has at most ten templates', () => {
  expect(readdirSync(join(CHART, 'templates')).length).toBeLessThanOrEqual(10);
});

test.skipIf(helm === undefined).each([
  ['the fewest values', ['existingSecret=secrets'], 5],
  ['all values', ALL_VALUES, 8],
])('every manifest is valid with %s', (_what, values, count) => {
  const manifests = render(values);
  expect(manifests).toHaveLength(count);
  for (const data of manifests) {
    const [apiVersion, validate] = KINDS[data.kind] ?? [];
    expect(apiVersion, data.kind).toBe(data.apiVersion);
    expect(() => validate?.(data), data.kind).not.toThrow();
  }
  expect(findUnknownFields(manifests)).toBe('');
});

test.skipIf(helm === undefined)('findUnknownFields reports an unknown field', () => {
  const [service] = render(['existingSecret=secrets']).filter(({ kind }) => kind === 'Service');
  if (service === undefined) throw new Error('no Service found');
  expect(findUnknownFields([{ ...service, spec: { selectr: {} } }])).toMatch(/selectr.* does not exist/);
});

const deploymentSchema = z.object({
  spec: z.object({
    template: z.object({
      spec: z.object({
        automountServiceAccountToken: z.literal(false),
        terminationGracePeriodSeconds: z.number(),
        securityContext: z.object({ runAsNonRoot: z.literal(true) }),
        containers: z.tuple([
          z.object({
            securityContext: z.object({
              allowPrivilegeEscalation: z.literal(false),
              readOnlyRootFilesystem: z.literal(true),
              capabilities: z.object({ drop: z.tuple([z.literal('ALL')]) }),
            }),
            resources: z.object({ limits: z.object({ memory: z.string() }) }),
          }),
        ]),
      }),
    }),
  }),
});

test.skipIf(helm === undefined)('the bot has no privileges, time to stop, and only known settings', () => {
  const manifests = render(ALL_VALUES);
  const { spec } = deploymentSchema.parse(manifests.find(({ kind }) => kind === 'Deployment'));
  expect(spec.template.spec.terminationGracePeriodSeconds).toBeGreaterThan(10);
  const { data } = z
    .object({ data: z.record(z.string(), z.string()) })
    .parse(manifests.find(({ kind }) => kind === 'ConfigMap'));
  expect(data).toMatchObject({ APPROVERS: 'U024BE7LH,S0614TZR7', APPROVALS_REQUIRED: '2' });
  expect(Object.keys(data).filter((name) => !(name in VARIABLE_EXAMPLES))).toEqual([]);
});

test.skipIf(helm === undefined)('the chart requires existingSecret', () => {
  expect(() => render([])).toThrow('existingSecret is required');
});
