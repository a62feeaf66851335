import { alertAdmins, type OnceDeps, tellOnce } from './admins.ts';
import type { ChannelAlert } from './reach-approvers.ts';
import { approvalChannelAlert } from './views/waiting.ts';

/**
 * Tells admins when the bot cannot post in the approvers' channel, once until it can post there again.
 */
export function createChannelAlert(deps: OnceDeps): ChannelAlert {
  const { store, log } = deps;
  const noteOf = (channelId: string) => `approval channel ${channelId} cannot be posted in`;
  return {
    cannotPost(channelId, problem) {
      log.warn({ err: problem, channelId }, 'the channel of the approvers cannot be posted in');
      tellOnce(deps, noteOf(channelId), () =>
        alertAdmins(deps, approvalChannelAlert(channelId, problem.code ?? problem.kind)),
      ).catch((err: unknown) =>
        log.warn({ err, channelId }, 'telling admins of the channel of the approvers'),
      );
    },
    posted(channelId) {
      store
        .forgetNote(noteOf(channelId))
        .catch((err: unknown) =>
          log.warn({ err, channelId }, 'noting that the channel of the approvers can be posted in'),
        );
    },
  };
}
