import { listPasskeys } from '../../store/keys-listed.ts';
import { withSession } from '../../store/session.ts';
import { type Command, UsageError, withBotDatabase } from './command.ts';

export const keyFingerprintCommand: Command = {
  usage: '',
  summary: 'list passkeys with their fingerprints, for SIGNING_ROOTS',
  details:
    'Before a fingerprint goes into SIGNING_ROOTS, compare it with the one on its owner’s screen, in person.',
  options: {},
  async run({ args, env, print }) {
    if (args.length > 0) throw new UsageError('key:fingerprint takes no arguments.');
    const keys = await withBotDatabase({ env, print }, (url) =>
      withSession(url, (client) => listPasskeys(client)),
    );
    if (keys.length === 0) print('No passkeys yet. Add one with /domain key.');
    for (const { fingerprint, owner, label, at, isRevoked } of keys) {
      const name = label === '' ? '' : ` “${label}”`;
      print(`${fingerprint}  ${owner}${name}, added ${at.toISOString()}${isRevoked ? ', revoked' : ''}`);
    }
    return undefined;
  },
};
