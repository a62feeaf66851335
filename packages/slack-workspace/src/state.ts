import { randomBytes } from 'node:crypto';
import type { Change, Channel, FileInfo, JsonObject, Message, User, View } from './protocol.ts';
import { APP, directMessageId, type Seed, TEAM, type Usergroup } from './seed.ts';

export interface StoredFile {
  info: FileInfo;
  content: Buffer;
}

/** The content of the state file: everything except dialogs and ephemeral messages. */
export interface SavedState {
  format: 1;
  lastTs: number;
  channels: Channel[];
  messages: Record<string, Message[]>;
  homes: Record<string, View>;
  files: { info: FileInfo; base64: string }[];
}

/** The state of the workspace, in memory. Notifies listeners of each change. */
export class State {
  readonly users = new Map<string, User>();
  readonly channels = new Map<string, Channel>();
  readonly usergroups = new Map<string, Usergroup>();
  readonly messages = new Map<string, Message[]>();
  readonly ephemerals: Message[] = [];
  readonly homes = new Map<string, View>();
  /** Each person's open dialogs, topmost last. */
  readonly modals = new Map<string, View[]>();
  readonly files = new Map<string, StoredFile>();
  /** Uploads that were announced but not completed, by file id. The length is in bytes. */
  readonly uploads = new Map<string, { name: string; length: number; content?: Buffer }>();
  readonly teamName: string;
  readonly enterpriseId: string | undefined;
  readonly appName: string;
  readonly now: () => number;
  version = 0;
  #lastTs = 0;
  #serial = 0;
  readonly #listeners = new Set<(change: Change) => void>();

  constructor(seed: Seed, now: () => number) {
    this.now = now;
    this.teamName = seed.teamName;
    this.enterpriseId = seed.enterpriseId;
    this.appName = seed.appName;
    for (const user of seed.users) this.users.set(user.id, user);
    for (const channel of seed.channels) this.channels.set(channel.id, channel);
    for (const group of seed.usergroups) this.usergroups.set(group.id, group);
    this.users.set(APP.botUserId, botUser(seed.appName));
    for (const user of seed.users) this.openDirectMessage(user.id);
  }

  onChange(listener: (change: Change) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  changed(topic: string, place: { channel?: string; user?: string } = {}): void {
    this.version += 1;
    const change: Change = { version: this.version, topic, ...place };
    for (const listener of this.#listeners) listener(change);
  }

  /**
   * The `ts` of a message: seconds with six decimal places. Values are unique and increase even if the clock doesn't
   * advance.
   */
  nextTs(): string {
    this.#lastTs = Math.max(Math.round(this.now() * 1_000), this.#lastTs + 1);
    return `${Math.floor(this.#lastTs / 1e6)}.${String(this.#lastTs % 1e6).padStart(6, '0')}`;
  }

  nextId(prefix: string): string {
    this.#serial += 1;
    return `${prefix}${randomBytes(4).toString('hex').toUpperCase()}${this.#serial.toString(36).toUpperCase()}`;
  }

  openDirectMessage(userId: string): Channel {
    const id = directMessageId(userId);
    const existing = this.channels.get(id);
    if (existing) return existing;
    const channel: Channel = {
      id,
      name: this.users.get(userId)?.name ?? userId,
      is_im: true,
      is_private: true,
      members: [userId, APP.botUserId],
      topic: '',
    };
    this.channels.set(id, channel);
    this.changed('channel', { channel: id });
    return channel;
  }

  messagesOf(channelId: string): Message[] {
    const existing = this.messages.get(channelId);
    if (existing) return existing;
    const created: Message[] = [];
    this.messages.set(channelId, created);
    return created;
  }

  find(channelId: string, ts: string): Message | undefined {
    return this.messagesOf(channelId).find((message) => message.ts === ts);
  }

  findEphemeral(channelId: string, ts: string): Message | undefined {
    return this.ephemerals.find((message) => message.channel === channelId && message.ts === ts);
  }

  post(message: Message): void {
    this.#listOf(message).push(message);
    this.#messageChanged(message);
  }

  replace(message: Message): void {
    const list = this.#listOf(message);
    const index = list.findIndex((old) => old.ts === message.ts && old.channel === message.channel);
    if (index >= 0) list[index] = message;
    this.#messageChanged(message);
  }

  remove(message: Message): void {
    const list = this.#listOf(message);
    const index = list.indexOf(message);
    if (index >= 0) list.splice(index, 1);
    this.#messageChanged(message);
  }

  #listOf({ channel, ephemeral_to }: Message): Message[] {
    return ephemeral_to === undefined ? this.messagesOf(channel) : this.ephemerals;
  }

  #messageChanged({ channel, ephemeral_to }: Message): void {
    this.changed(ephemeral_to === undefined ? 'message' : 'ephemeral', { channel });
  }

  modalsOf(userId: string): View[] {
    const existing = this.modals.get(userId);
    if (existing) return existing;
    const created: View[] = [];
    this.modals.set(userId, created);
    return created;
  }

  /** Also finds Home views. */
  findView(match: (view: View) => boolean): { view: View; userId: string } | undefined {
    for (const [userId, stack] of this.modals) {
      const view = stack.find(match);
      if (view) return { view, userId };
    }
    for (const [userId, view] of this.homes) if (match(view)) return { view, userId };
    return undefined;
  }

  /** Replaces the view with the same id, or puts the view on top. */
  show(userId: string, view: View): void {
    if (view.type === 'home') {
      this.homes.set(userId, view);
      this.changed('home', { user: userId });
      return;
    }
    const stack = this.modalsOf(userId);
    const index = stack.findIndex((open) => open.id === view.id);
    if (index >= 0) stack[index] = view;
    else stack.push(view);
    this.changed('view', { user: userId });
  }

  /** Closes a dialog. With `all`, also closes all dialogs above and below it. */
  closeView(userId: string, viewId: string, all: boolean): void {
    const stack = this.modalsOf(userId);
    const root = stack.find((view) => view.id === viewId)?.root_view_id;
    const isClosed = (view: View) => view.id === viewId || (all && view.root_view_id === root);
    this.modals.set(
      userId,
      stack.filter((view) => !isClosed(view)),
    );
    this.changed('view', { user: userId });
  }

  save(): SavedState {
    return {
      format: 1,
      lastTs: this.#lastTs,
      channels: [...this.channels.values()],
      messages: Object.fromEntries(this.messages),
      homes: Object.fromEntries(this.homes),
      files: [...this.files.values()].map(({ info, content }) => ({
        info,
        base64: content.toString('base64'),
      })),
    };
  }

  restore(saved: SavedState): void {
    this.#lastTs = saved.lastTs;
    for (const channel of saved.channels) this.channels.set(channel.id, channel);
    for (const [id, list] of Object.entries(saved.messages)) this.messages.set(id, list);
    for (const [id, view] of Object.entries(saved.homes)) this.homes.set(id, view);
    for (const { info, base64 } of saved.files) {
      this.files.set(info.id, { info, content: Buffer.from(base64, 'base64') });
    }
  }
}

function botUser(name: string): User {
  return {
    id: APP.botUserId,
    name: APP.botUser,
    real_name: name,
    team_id: TEAM.id,
    tz: 'UTC',
    is_admin: false,
    is_owner: false,
    is_bot: true,
    is_stranger: false,
    deleted: false,
    is_restricted: false,
    is_ultra_restricted: false,
    role: 'app',
  };
}

export function botAuthor(): Pick<Message, 'user' | 'bot_id' | 'app_id'> {
  return { user: APP.botUserId, bot_id: APP.botId, app_id: APP.id };
}

/** A message as it is sent to apps, without the fields that only this workspace uses. */
export function messageForApps(message: Message, withMetadata: boolean): JsonObject {
  const { channel: _channel, notifies: _notifies, ephemeral_to: _ephemeral, metadata, ...shown } = message;
  const plain: JsonObject = JSON.parse(JSON.stringify(shown));
  return withMetadata && metadata ? { ...plain, metadata: { ...metadata } } : plain;
}
