import { describe, expect, test } from 'vitest';
import type { Deadline } from '../../../src/expiry/deadline.ts';
import type { ListedName } from '../../../src/expiry/expiry.ts';
import { loadExpiryChange } from '../../../src/expiry/expiry-change.ts';
import { createWatchedDomain } from '../../../src/expiry/newly-watched.ts';
import { formatExpiryChange } from '../../../src/slack/expiry/expiry.view.ts';
import { newOrder } from '../../orders/sample.ts';

const EXPIRY = new Date('2027-06-15T12:00:00Z');

const PHASES = {
  renew: 'registered',
  restore: 'redemption',
  check: 'redemption',
  none: 'released',
} as const;

function newListed(action: Deadline['action'], more: Partial<ListedName['domain']> = {}): ListedName {
  const domain = createWatchedDomain('cafe.rest', 'U0ALICE', EXPIRY);
  return {
    domain: { ...domain, expiry: { at: EXPIRY, source: 'rdap' }, ...more },
    expiryDay: '2027-06-15',
    daysLeft: 100,
    deadline: {
      action,
      phase: PHASES[action],
      until: action === 'none' ? undefined : '2027-03-20',
      daysLeft: 10,
    },
  };
}

const unknown: ListedName = {
  domain: createWatchedDomain('cafe.rest', 'U0ALICE', EXPIRY),
  expiryDay: undefined,
  daysLeft: undefined,
  deadline: undefined,
};
const deletedAt = new Date('2027-02-18T08:00:00Z');

describe('the Expiry row of a card', () => {
  test.each([
    [
      'a deleted name',
      newListed('restore', { deletedAt }),
      '15 Jun 2027 (registry), deleted 18 Feb 2027\nCan be restored until 20 Mar 2027',
    ],
    [
      'a name that is assumed to be deleted',
      newListed('check'),
      '15 Jun 2027 (registry)\n:warning: No known deletion. If it was deleted, it can be restored until 20 Mar 2027',
    ],
    ['a name that is not deleted', newListed('renew'), '15 Jun 2027 (registry)\n:warning: No known deletion'],
    [
      'a deleted name of a zone without documented periods',
      {
        ...newListed('restore', { deletedAt }),
        deadline: {
          action: 'restore' as const,
          phase: 'deleted' as const,
          until: undefined,
          daysLeft: undefined,
        },
      },
      '15 Jun 2027 (registry), deleted 18 Feb 2027',
    ],
    [
      'a name that can no longer be restored',
      newListed('none', { deletedAt }),
      '15 Jun 2027 (registry), deleted 18 Feb 2027\n:warning: It’s too late to restore it, according to these dates',
    ],
    ['a name without a date', unknown, 'Unknown'],
  ])('describes a restore of %s', (_what, name, said) => {
    expect(formatExpiryChange({ task: 'restore', listedName: name })).toBe(said);
  });

  test.each([
    [{ task: 'create' }, 'looked up'],
    [{ task: 'restore' }, 'looked up'],
    [{ task: 'renew' }, 'looked up'],
    [{ task: 'delete' }, 'left out'],
    [{ task: 'create', state: 'APPROVED' }, 'left out'],
    [{ task: 'create', account: { ...newOrder([]).account, context: 1 } }, 'left out'],
  ] as const)('for %o is %s', async (order, expected) => {
    const change = await loadExpiryChange(async () => newListed('renew'), newOrder(['cafe.rest'], order));
    expect(change === undefined ? 'left out' : 'looked up').toBe(expected);
    if (change !== undefined) expect(change.task).toBe(order.task);
  });

  const registered = '15 Jun 2027 (registry)\n:warning: It’s watched, so it’s probably registered already';
  test.each([
    ['a name that is registered', newListed('renew'), registered],
    ['a deleted name that is not free yet', newListed('restore', { deletedAt }), registered],
    ['a name that is free now or soon', newListed('none', { deletedAt }), undefined],
    ['a name without a date', unknown, undefined],
  ])('describes a registration of %s', (_what, name, said) => {
    expect(formatExpiryChange({ task: 'create', listedName: name })).toBe(said);
  });
});
