import { z } from 'zod';
import type { TokenSteps } from '../accounts/account.ts';
import { type Database, Prisma, wrapStore } from './database.ts';

/** Clocks differ by fewer steps than this. A step further ahead was written before the clock was set back. */
const MAX_STEPS_AHEAD = 10;

const rowsSchema = z.array(z.object({ step: z.number() }));

/** Remembers used one-time tokens across replicas and restarts. */
export function createTokenStepStore({ run, prisma }: Database): TokenSteps {
  return wrapStore('tokenSteps', {
    claimStep: async (user, step) => {
      const login = normalizeLogin(user);
      for (;;) {
        const claimed = rowsSchema.parse(
          await run(Prisma.sql`
            INSERT INTO token_steps AS kept (login, step) VALUES (${login}, ${step})
            ON CONFLICT (login) DO UPDATE SET step = excluded.step
            WHERE kept.step < excluded.step OR kept.step > excluded.step + ${MAX_STEPS_AHEAD}
            RETURNING step`),
        );
        if (claimed.length > 0) return undefined;
        const last = await prisma.tokenStep.findUnique({ where: { login } });
        // The step may have been released between the two statements.
        if (last !== null && last.step >= step) return last.step;
      }
    },

    releaseStep: async (user, step) => {
      await prisma.tokenStep.updateMany({
        where: { login: normalizeLogin(user), step },
        data: { step: step - 1 },
      });
    },
  });
}

/** Normalizes a user name, because people type it differently. */
function normalizeLogin(user: string): string {
  return user.normalize('NFC').toLowerCase();
}
