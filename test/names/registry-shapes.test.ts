import { describe, expect, test } from 'vitest';
import { isSameValue } from '../../src/names/facts.ts';
import { parseRegistryAnswer } from '../../src/names/registry-record.ts';
import {
  isLock,
  isStillLocked,
  isTransferLock,
  listRegistryLockedOperations,
  normalizeStatus,
} from '../../src/registry/rdap/status.ts';
import { REGISTRY_SHAPES } from '../support/registry-shapes.ts';

const AT = new Date('2026-11-22T00:00:00Z');

describe('parsing the record of a registry', () => {
  test.each(REGISTRY_SHAPES)('$registry', ({ record, expectedFacts }) => {
    const body: unknown = JSON.parse(JSON.stringify(record));
    const answer = { kind: 'answered', body, server: 'rdap.example', isSecure: true } as const;
    const { facts, result } = parseRegistryAnswer(answer, 'cafe.rest', AT);
    expect(result.kind, 'an unreadable fact keeps the record').toBe('registered');
    const read = Object.fromEntries(
      Object.keys(expectedFacts).map((name) => {
        const fact = Object.entries(facts).find(([each]) => each === name)?.[1];
        if (fact?.state === 'unseen') return [name, fact.text];
        return [name, fact?.state === 'seen' ? fact.value : []];
      }),
    );
    expect(read).toEqual(expectedFacts);
  });
});

describe('a registrar', () => {
  test.each(['9994', '9999', '1', '0', '376', '09999', 'n/a', 'none'])(
    'isn’t identified by the shared ID %s',
    (id) => {
      const [one, other] = ['Proper Registrar GmbH', 'Elsewhere Registrar Inc.'].map((name) => [
        `iana:${id}`,
        `name:${name}`,
      ]);
      expect(isSameValue('registrar', one ?? [], other ?? [])).toBe(false);
    },
  );

  test.each([
    [['iana:9999', 'handle:R1'], ['iana:9999', 'handle:R2'], false],
    [['iana:9999', 'handle:R1'], ['iana:9999', 'name:Proper'], true],
    [['iana:9999', 'name:Proper'], ['iana:292', 'name:PROPER'], true],
    [['iana:9999', 'name:Proper'], ['iana:292', 'name:Elsewhere'], false],
    [['iana:0292', 'name:Proper'], ['iana:292', 'name:Renamed'], true],
  ])('%j and %j are the same: %s', (one, other, same) => {
    expect(isSameValue('registrar', one, other)).toBe(same);
  });
});

describe('a lock', () => {
  test.each([
    ...['transfer prohibited', 'clientTransferProhibited', 'Locked', 'registrar-lock', 'transfer locked'],
    ...['REGISTRAR_LOCK', 'registry lock', 'https://icann.org/epp#serverTransferProhibited'],
  ])('%s prevents a transfer', (status) => {
    expect(isTransferLock(normalizeStatus(status))).toBe(true);
  });

  test('of the registry is told apart from one of the registrar', () => {
    const statuses = ['serverDeleteProhibited', 'clientTransferProhibited', 'server update prohibited'];
    expect(
      listRegistryLockedOperations(
        [...statuses, 'server hold', 'server renew prohibited'].map(normalizeStatus),
      ),
    ).toEqual(['delete', 'update']);
  });

  test.each(['update prohibited', 'server delete prohibited', 'clientUpdateProhibited'])(
    '%s prevents changes of the name',
    (status) => {
      expect([isLock(normalizeStatus(status)), isTransferLock(normalizeStatus(status))]).toEqual([
        true,
        false,
      ]);
    },
  );

  test.each([
    'active',
    'unlocked',
    'renew prohibited',
    'client hold',
    'blocked by court',
    'pending transfer',
  ])('%s is no lock', (status) => {
    expect(isLock(normalizeStatus(status))).toBe(false);
  });

  test('isn’t lost if only its spelling changes', () => {
    expect(isStillLocked('client transfer prohibited', ['transfer prohibited'])).toBe(true);
    expect(isStillLocked('registrar lock', ['locked'])).toBe(true);
    expect(isStillLocked('client transfer prohibited', ['server transfer prohibited'])).toBe(false);
    expect(isStillLocked('transfer prohibited', ['update prohibited'])).toBe(false);
  });
});
