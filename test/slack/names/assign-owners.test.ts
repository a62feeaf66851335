import { expect, test } from 'vitest';
import { createWatchedDomain } from '../../../src/expiry/newly-watched.ts';
import { findOwnerlessNames } from '../../../src/slack/names/assign-owners.ts';
import type { Database } from '../../../src/store/database.ts';
import { createPortfolioStore } from '../../../src/store/portfolio.ts';
import { useTestDatabase } from '../../support/database.ts';
import { slackContextWith } from '../../support/slack-context.ts';
import { createTestWatchList, editNames } from '../../support/unprotected.ts';

const NOW = new Date('2027-06-14T12:00:00Z');
let database: Database;
useTestDatabase((opened) => {
  database = opened;
});

test('names that lapse need no owner', async () => {
  const owners = { 'theirs.rest': 'U0CAROL', 'lapsing.rest': 'U0CAROL', 'living.rest': 'U0BOB' };
  const portfolio = createPortfolioStore(database, 'T0TEAM');
  const list = createTestWatchList(database);
  for (const name of [...Object.keys(owners), 'nobodys.rest', 'nobodys-lapsing.rest'])
    await list.add(createWatchedDomain(name, 'U0ALICE', NOW));
  const edits = Object.entries(owners).map(([name, owner]) => [name, { owner }] as const);
  await editNames(portfolio, new Map(edits), 'U0ALICE', NOW);
  await database.prisma.domain.updateMany({
    where: { name: { in: ['lapsing.rest', 'nobodys-lapsing.rest'] } },
    data: { lapseConfirmedAt: NOW },
  });
  const findOwnerless = (subject: string) =>
    findOwnerlessNames(slackContextWith({ portfolio, now: () => NOW }), subject);

  expect(await findOwnerless('U0CAROL'), 'before Carol leaves').toEqual({ names: [], total: 0 });
  await portfolio.recordOwnerDeparture('U0CAROL', NOW);
  expect(await findOwnerless('U0CAROL')).toEqual({ names: ['theirs.rest'], total: 1 });
  expect(await findOwnerless('all')).toEqual({ names: ['nobodys.rest', 'theirs.rest'], total: 2 });
});
