import { z } from 'zod';
import type { UsedTokenSteps } from '../accounts/account.ts';
import { type Database, Prisma, wrapStore } from './database.ts';

/** Replicas' clocks differ by fewer steps. A step further ahead was written before a clock was set back. */
const MAX_STEPS_AHEAD = 10;

const stepRowsSchema = z.array(z.object({ step: z.number() }));

/** Remembers used one-time tokens across replicas and restarts. */
export function createTokenStepStore({ run, prisma }: Database): UsedTokenSteps {
  return wrapStore('tokenSteps', {
    claimStep: async (user, step) => {
      const login = normalizeLogin(user);
      for (;;) {
        const rows = stepRowsSchema.parse(
          await run(Prisma.sql`
            INSERT INTO token_steps AS kept (login, step) VALUES (${login}, ${step})
            ON CONFLICT (login) DO UPDATE SET step = excluded.step
            WHERE kept.step < excluded.step OR kept.step > excluded.step + ${MAX_STEPS_AHEAD}
            RETURNING step`),
        );
        if (rows.length > 0) return undefined;
        const lastUsedRow = await prisma.tokenStep.findUnique({ where: { login } });
        // The step may have been released between the two statements.
        if (lastUsedRow !== null && lastUsedRow.step >= step) return lastUsedRow.step;
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

/** People enter the same user name in different ways. */
function normalizeLogin(login: string): string {
  return login.normalize('NFC').toLowerCase();
}
