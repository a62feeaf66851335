import type { Log } from '../log.ts';
import type { SettingsStore } from '../settings.ts';
import { type AdminAlertDeps, alertAdmins } from './admins.ts';
import type { SlackApiError } from './platform/web.ts';
import type { ChannelAlert } from './reach-approvers.ts';
import { approvalChannelAlert } from './views/waiting.ts';

export interface ChannelAlertDeps extends AdminAlertDeps {
  readonly store: Pick<SettingsStore, 'noteOnce' | 'forgetNote'>;
  readonly now: () => Date;
  readonly log: Log;
}

/**
 * Tells admins when the bot cannot post in the approvers' channel, once until it can post there again.
 */
export function createChannelAlert(deps: ChannelAlertDeps): ChannelAlert {
  const { store, log } = deps;
  /** Channels in which the bot has posted since, so that no record of a refusal exists. */
  const working = new Set<string>();
  const noteOf = (channelId: string) => `approval channel ${channelId} cannot be posted in`;
  const alert = async (channelId: string, problem: SlackApiError): Promise<void> => {
    if (!(await store.noteOnce(noteOf(channelId), deps.now()))) return;
    try {
      await alertAdmins(deps, approvalChannelAlert(channelId, problem.code ?? problem.kind));
    } catch (error) {
      await store.forgetNote(noteOf(channelId));
      throw error;
    }
  };
  return {
    cannotPost(channelId, problem) {
      log.warn({ err: problem, channelId }, 'the channel of the approvers cannot be posted in');
      working.delete(channelId);
      alert(channelId, problem).catch((err: unknown) =>
        log.warn({ err, channelId }, 'telling admins of the channel of the approvers'),
      );
    },
    posted(channelId) {
      if (working.has(channelId)) return;
      working.add(channelId);
      store.forgetNote(noteOf(channelId)).catch((err: unknown) => {
        working.delete(channelId);
        log.warn({ err, channelId }, 'noting that the channel of the approvers can be posted in');
      });
    },
  };
}
