import { randomBytes } from 'node:crypto';
import { SANDBOX_ACCOUNTS, type SandboxService, startSandboxService } from '@domain-steward/sandbox-service';
import { pino } from 'pino';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { type Accounts, createAccounts, type TeamCredential } from '../../src/accounts/accounts.ts';
import { createVault, VaultError } from '../../src/accounts/vault.ts';
import { createServiceClient } from '../../src/service/client.ts';
import { Secret } from '../../src/service/secret.ts';
import { domainRenew } from '../../src/service/tasks/domain.ts';
import { createAccountStore } from '../../src/store/accounts.ts';
import type { Database } from '../../src/store/database.ts';
import { useTestDatabase } from '../support/database.ts';
import { deleteTeamEvents, readTeamEvents } from '../support/log.ts';

/* The team's account on a real database. */

const FIRST = { id: 'first', key: randomBytes(32) };
const SECOND = { id: 'second', key: randomBytes(32) };
const { uuid, application, password } = SANDBOX_ACCOUNTS.trustedApplication;
const FROM = new Date('2026-01-01T00:00:00Z');
const NOW = new Date('2026-03-01T09:00:00.123Z');
const TO = new Date('2027-01-01T00:00:00Z');

let service: SandboxService;
let database: Database;
useTestDatabase((opened) => {
  database = opened;
});
const open: Accounts[] = [];

beforeAll(async () => {
  service = await startSandboxService();
});
afterEach(async () => {
  await Promise.all(open.splice(0).map((accounts) => accounts.close()));
  await database.prisma.account.deleteMany();
  await deleteTeamEvents(database);
});
afterAll(async () => {
  await service.close();
});

function newAccounts(
  teamId = 'T0STEWARD',
  keys: readonly [typeof FIRST, ...(typeof FIRST)[]] = [FIRST],
): Accounts {
  const accounts = createAccounts({
    teamId,
    store: createAccountStore(database),
    vault: createVault(keys),
    now: () => NOW,
    log: pino({ level: 'silent' }),
    createClient: (credential) =>
      createServiceClient({
        jsonUrl: service.jsonUrl,
        xmlUrl: service.xmlUrl,
        credential,
        jsonAuth: 'basic',
        timeoutMs: 5_000,
        replyTo: undefined,
      }),
  });
  open.push(accounts);
  return accounts;
}

function credential(listChanges: Partial<TeamCredential> = {}): TeamCredential {
  return { method: 'trusted_application', uuid, application, password: new Secret(password), ...listChanges };
}

async function link(accounts: Accounts, by = 'U0ADA', given = credential()): Promise<string> {
  const outcome = await accounts.team.link(by, given);
  if (outcome.kind !== 'linked') throw new Error(`linking: ${outcome.refusal.code}`);
  return outcome.account.id;
}

/** Lists the log entries of the team's account. */
async function listChanges(from = FROM) {
  return (await readTeamEvents(database, 'T0STEWARD', from, TO)).flatMap((event) =>
    event.subject.kind === 'account' && 'application' in event
      ? {
          kind: event.kind,
          login: event.subject.id,
          application: event.application,
          by: event.actor,
          at: event.at,
        }
      : [],
  );
}

test('the team’s account has no person, records the admin who linked it, and signs requests', async () => {
  const accounts = newAccounts();
  expect(await accounts.team.find()).toBeUndefined();
  const id = await link(accounts);
  const team = await accounts.team.find();
  expect(team).toMatchObject({
    id,
    login: uuid,
    application,
    linkedBy: 'U0ADA',
    method: 'trusted_application',
  });
  expect(team?.userId).toBeUndefined();
  expect(await accounts.list('U0ADA')).toEqual([]);
  expect(await accounts.listUserIds()).toEqual([]);
  expect(await accounts.findActive('U0ADA')).toBeUndefined();

  const { name } = service.state.addDomain({ name: 'cafe.rest', context: 4, expires: Date.now() + 1e9 });
  const client = await accounts.loadClient(id);
  await client?.run(domainRenew, { name, period: 1 }, { ctid: 'team-1' });
  expect(service.requestsFor({ ctid: 'team-1' }).at(-1)).toMatchObject({ user: uuid });
});

test('only people without their own account use the team’s account', async () => {
  const accounts = newAccounts();
  expect(await accounts.findDefault('U0DAVE')).toBeUndefined();
  const id = await link(accounts);
  await accounts.link('U0ALICE', {
    method: 'password',
    ...SANDBOX_ACCOUNTS.alice,
    password: new Secret(SANDBOX_ACCOUNTS.alice.password),
  });
  expect(await accounts.findDefault('U0DAVE')).toMatchObject({ id });
  expect(await accounts.findDefault('U0ALICE')).toMatchObject({ login: 'alice', userId: 'U0ALICE' });
});

test('each team has one account, besides its admin’s own application', async () => {
  const accounts = newAccounts();
  await accounts.link('U0ADA', credential());
  const id = await link(accounts);
  expect(await link(accounts, 'U0BOB'), 'ID of the same application').toBe(id);
  expect(await accounts.team.find()).toMatchObject({ id, linkedBy: 'U0BOB' });
  const other = await link(accounts, 'U0ADA', credential({ uuid: '11111111-2222', application: 'other' }));
  expect(other).not.toBe(id);
  expect(await accounts.find(id)).toBeUndefined();
  expect(await accounts.loadClient(id)).toBeUndefined();
  expect(await accounts.list('U0ADA')).toHaveLength(1);

  const sister = newAccounts('T0SISTER');
  expect(await sister.team.find()).toBeUndefined();
  await link(sister);
  expect(await database.prisma.account.count({ where: { teamKey: { not: null } } })).toBe(2);
});

test('concurrent links create one team account', async () => {
  const accounts = newAccounts();
  await Promise.all(
    ['a', 'b', 'c'].map((letter) =>
      link(accounts, 'U0ADA', credential({ uuid: letter.repeat(8), application: letter })),
    ),
  );
  expect(await database.prisma.account.count()).toBe(1);
});

test('unlinking deletes the team’s account and its secrets, once', async () => {
  const accounts = newAccounts();
  const id = await link(accounts);
  expect(await accounts.team.unlink('U0BOB')).toMatchObject({ id });
  expect(await accounts.team.unlink('U0BOB')).toBeUndefined();
  expect(await accounts.team.find()).toBeUndefined();
  expect(await accounts.loadClient(id)).toBeUndefined();
  expect(await database.prisma.account.count()).toBe(0);
});

test('every change is in the audit log, without secrets', async () => {
  const accounts = newAccounts();
  await link(accounts);
  await link(accounts, 'U0BOB', credential({ uuid: '11111111-2222', application: 'other' }));
  await accounts.team.unlink('U0CAROL');
  expect(await listChanges()).toEqual([
    { kind: 'team_account_linked', login: uuid, application, by: 'U0ADA', at: NOW },
    { kind: 'team_account_unlinked', login: uuid, application, by: 'U0BOB', at: NOW },
    { kind: 'team_account_linked', login: '11111111-2222', application: 'other', by: 'U0BOB', at: NOW },
    { kind: 'team_account_unlinked', login: '11111111-2222', application: 'other', by: 'U0CAROL', at: NOW },
  ]);
  expect(JSON.stringify(await database.prisma.event.findMany(), replaceBigInt)).not.toContain(password);
  expect(await listChanges(new Date(NOW.getTime() + 1))).toEqual([]);
});

function replaceBigInt(_key: string, value: unknown): unknown {
  return typeof value === 'bigint' ? String(value) : value;
}

test('a row moved between a person and a team, or between teams, doesn’t open', async () => {
  const accounts = newAccounts();
  const id = await link(accounts);
  await database.prisma.account.update({ where: { id }, data: { userId: 'U0EVE', teamKey: null } });
  await expect(accounts.loadClient(id)).rejects.toThrow(VaultError);

  const own = await accounts.link('U0ALICE', credential());
  if (own.kind !== 'linked') throw new Error('linking');
  const moved = { userId: null, teamKey: 'T0STEWARD', activeKey: null };
  await database.prisma.account.update({ where: { id: own.account.id }, data: moved });
  await expect(accounts.loadClient(own.account.id)).rejects.toThrow(VaultError);

  const sister = newAccounts('T0SISTER');
  const theirs = await link(sister);
  await database.prisma.account.deleteMany({ where: { id: own.account.id } });
  await database.prisma.account.update({
    where: { id: theirs },
    data: { teamId: 'T0STEWARD', teamKey: 'T0STEWARD' },
  });
  await expect(accounts.loadClient(theirs)).rejects.toThrow(VaultError);
});

test('every row belongs to either a person or the team', async () => {
  const accounts = newAccounts();
  const id = await link(accounts);
  await expect(
    database.prisma.account.update({ where: { id }, data: { userId: 'U0EVE' } }),
  ).rejects.toThrow();
  await expect(database.prisma.account.update({ where: { id }, data: { teamKey: null } })).rejects.toThrow();
});

test('the team’s account is resealed with a new key', async () => {
  const id = await link(newAccounts());
  expect(await newAccounts('T0STEWARD', [SECOND, FIRST]).reseal()).toBe(1);
  const resealed = newAccounts('T0STEWARD', [SECOND]);
  expect(await resealed.loadClient(id)).toBeDefined();
  await link(resealed);
  await resealed.recordAccepted(id);
});
