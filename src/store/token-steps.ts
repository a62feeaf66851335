import { z } from 'zod';
import type { TokenSteps } from '../accounts/account.ts';
import { type Database, Prisma, withStoreError } from './database.ts';

/** Clocks differ by less than this, in steps. What stands further ahead was noted by a clock that has been put back since. */
const FARTHEST_STEPS = 10;

const rows = z.array(z.object({ step: z.number() }));

/** Which one-time tokens were used, on PostgreSQL: for all replicas, and over restarts. */
export function createTokenStepStore({ run }: Database): TokenSteps {
  return {
    claimStep: (user, step) =>
      withStoreError('using up a one-time token', async () => {
        const login = loginOf(user);
        for (;;) {
          const used = rows.parse(
            await run(Prisma.sql`
              INSERT INTO token_steps AS kept (login, step) VALUES (${login}, ${step})
              ON CONFLICT (login) DO UPDATE SET step = excluded.step
              WHERE kept.step < excluded.step OR kept.step > excluded.step + ${FARTHEST_STEPS}
              RETURNING step`),
          );
          if (used.length > 0) return undefined;
          const [last] = rows.parse(
            await run(Prisma.sql`SELECT step FROM token_steps WHERE login = ${login}`),
          );
          // It may have been given back between the two.
          if (last !== undefined && last.step >= step) return last.step;
        }
      }),

    giveBack: (user, step) =>
      withStoreError('giving a one-time token back', async () => {
        await run(
          Prisma.sql`UPDATE token_steps SET step = step - 1 WHERE login = ${loginOf(user)} AND step = ${step}`,
        );
      }),
  };
}

/** The same user, however a person has typed the name. */
function loginOf(user: string): string {
  return user.normalize('NFC').toLowerCase();
}
