import { APP, defaultSeed, type Message, type Snapshot, TEAM } from '@domain-steward/slack-workspace';
import type { Situation } from '../../demo/page/paths/path.ts';

/** A person's view of a workspace with these messages. */
export function situationOf(
  me: string,
  messages: readonly Message[] = [],
  changes: Partial<Situation> = {},
): Situation {
  const { users, channels, teamName, appName } = defaultSeed();
  const snapshot: Snapshot = {
    version: 1,
    now: 0,
    team: { ...TEAM, name: teamName },
    me,
    bot: { user_id: APP.botUserId, name: appName },
    commands: [],
    shortcuts: [],
    users,
    usergroups: [],
    channels,
    messages: Object.fromEntries(
      channels.map(({ id }) => [id, messages.filter(({ channel }) => channel === id)]),
    ),
    views: [],
    home: null,
  };
  return { snapshot, place: { channel: 'C0DOMAINS' }, requests: [], ceremonies: [], seen: [], ...changes };
}

/** A message of the bot. */
export function messageAt(ts: string, parts: Partial<Message> = {}): Message {
  return {
    type: 'message',
    channel: 'C0DOMAINS',
    ts,
    user: APP.botUserId,
    text: '',
    blocks: [],
    notifies: [],
    ...parts,
  };
}

/** The card of an order. */
export function cardOf(
  state: string,
  ts = '10.0',
  {
    task = 'renew',
    names = 'cafe.rest',
    ...parts
  }: Partial<Message> & { task?: string; names?: string } = {},
): Message {
  const event_payload = { order_id: ts, task, names, state };
  return messageAt(ts, { metadata: { event_type: 'domain_order', event_payload }, ...parts });
}
