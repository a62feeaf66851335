import { alertAdmins } from './admins.ts';
import type { SlackDeps } from './feature.ts';
import { SlackApiError } from './platform/web.ts';
import type { AskedAdmins } from './views/asked-admins.ts';
import type { Message } from './views/blocks.ts';

/**
 * Asks all other admins to confirm what one of them wants, each by direct message.
 * @param by who wants it
 * @param requestFor what an admin is asked, in their locale
 */
export async function askOtherAdmins(
  deps: Pick<SlackDeps, 'admins' | 'directory' | 'web' | 'log'>,
  by: string,
  requestFor: (admin: string, locale: string) => Message,
): Promise<AskedAdmins> {
  const asked: string[] = [];
  const missed: string[] = [];
  for (const admin of deps.admins.filter((id) => id !== by)) {
    try {
      const locale = await deps.directory.localeOf(admin);
      await alertAdmins({ ...deps, admins: [admin] }, requestFor(admin, locale));
      asked.push(admin);
    } catch (error) {
      if (!(error instanceof SlackApiError)) throw error;
      deps.log.warn({ err: error, admin }, 'asking an admin for a confirmation');
      missed.push(admin);
    }
  }
  return { asked, missed };
}
