import { randomBytes } from 'node:crypto';
import type { Change, Channel, FileInfo, JsonObject, Message, User, View } from './protocol.ts';
import { APP, getDirectMessageId, type Seed, TEAM, type Usergroup } from './seed.ts';

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
  readonly ephemeralMessages: Message[] = [];
  readonly homeViews = new Map<string, View>();
  /** Each person's open dialogs, topmost last. */
  readonly modals = new Map<string, View[]>();
  readonly files = new Map<string, StoredFile>();
  /** Uploads that were announced but not completed, by file id. */
  readonly uploads = new Map<string, { name: string; byteLength: number; content?: Buffer }>();
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
    this.users.set(APP.botUserId, createBotUser(seed.appName));
    for (const user of seed.users) this.openDirectMessage(user.id);
  }

  onChange(listener: (change: Change) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  emitChange(topic: string, scope: { channel?: string; user?: string } = {}): void {
    this.version += 1;
    const change: Change = { version: this.version, topic, ...scope };
    for (const listener of this.#listeners) listener(change);
  }

  /**
   * Returns the `ts` for a new message: seconds with six decimal places. Values are unique and increase even if the
   * clock doesn't advance.
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
    const id = getDirectMessageId(userId);
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
    this.emitChange('channel', { channel: id });
    return channel;
  }

  getMessages(channelId: string): Message[] {
    const existing = this.messages.get(channelId);
    if (existing) return existing;
    const created: Message[] = [];
    this.messages.set(channelId, created);
    return created;
  }

  findMessage(channelId: string, ts: string): Message | undefined {
    return this.getMessages(channelId).find((message) => message.ts === ts);
  }

  findEphemeral(channelId: string, ts: string): Message | undefined {
    return this.ephemeralMessages.find((message) => message.channel === channelId && message.ts === ts);
  }

  addMessage(message: Message): void {
    this.#getMessageList(message).push(message);
    this.#emitMessageChange(message);
  }

  replaceMessage(message: Message): void {
    const messages = this.#getMessageList(message);
    const index = messages.findIndex(
      (candidate) => candidate.ts === message.ts && candidate.channel === message.channel,
    );
    if (index >= 0) messages[index] = message;
    this.#emitMessageChange(message);
  }

  removeMessage(message: Message): void {
    const messages = this.#getMessageList(message);
    const index = messages.indexOf(message);
    if (index >= 0) messages.splice(index, 1);
    this.#emitMessageChange(message);
  }

  #getMessageList({ channel, ephemeral_to }: Message): Message[] {
    return ephemeral_to === undefined ? this.getMessages(channel) : this.ephemeralMessages;
  }

  #emitMessageChange({ channel, ephemeral_to }: Message): void {
    this.emitChange(ephemeral_to === undefined ? 'message' : 'ephemeral', { channel });
  }

  getModals(userId: string): View[] {
    const existing = this.modals.get(userId);
    if (existing) return existing;
    const created: View[] = [];
    this.modals.set(userId, created);
    return created;
  }

  /** Finds an open dialog or a Home view. */
  findView(matches: (view: View) => boolean): { view: View; userId: string } | undefined {
    for (const [userId, stack] of this.modals) {
      const view = stack.find(matches);
      if (view) return { view, userId };
    }
    for (const [userId, view] of this.homeViews) if (matches(view)) return { view, userId };
    return undefined;
  }

  /** Replaces the view with the same id, or puts the view on top. */
  showView(userId: string, view: View): void {
    if (view.type === 'home') {
      this.homeViews.set(userId, view);
      this.emitChange('home', { user: userId });
      return;
    }
    const stack = this.getModals(userId);
    const index = stack.findIndex((open) => open.id === view.id);
    if (index >= 0) stack[index] = view;
    else stack.push(view);
    this.emitChange('view', { user: userId });
  }

  /** Closes a dialog or the whole stack that contains it. */
  closeView(userId: string, viewId: string, closesStack: boolean): void {
    const stack = this.getModals(userId);
    const rootViewId = stack.find((view) => view.id === viewId)?.root_view_id;
    const shouldClose = (view: View) =>
      view.id === viewId || (closesStack && view.root_view_id === rootViewId);
    this.modals.set(
      userId,
      stack.filter((view) => !shouldClose(view)),
    );
    this.emitChange('view', { user: userId });
  }

  serialize(): SavedState {
    return {
      format: 1,
      lastTs: this.#lastTs,
      channels: [...this.channels.values()],
      messages: Object.fromEntries(this.messages),
      homes: Object.fromEntries(this.homeViews),
      files: [...this.files.values()].map(({ info, content }) => ({
        info,
        base64: content.toString('base64'),
      })),
    };
  }

  restore(savedState: SavedState): void {
    this.#lastTs = savedState.lastTs;
    for (const channel of savedState.channels) this.channels.set(channel.id, channel);
    for (const [id, messages] of Object.entries(savedState.messages)) this.messages.set(id, messages);
    for (const [id, view] of Object.entries(savedState.homes)) this.homeViews.set(id, view);
    for (const { info, base64 } of savedState.files) {
      this.files.set(info.id, { info, content: Buffer.from(base64, 'base64') });
    }
  }
}

function createBotUser(name: string): User {
  return {
    id: APP.botUserId,
    name: APP.botHandle,
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

export function getBotAuthor(): Pick<Message, 'user' | 'bot_id' | 'app_id'> {
  return { user: APP.botUserId, bot_id: APP.botId, app_id: APP.id };
}

/** Omits the fields that only the local workspace uses. */
export function buildAppMessage(message: Message, includeMetadata: boolean): JsonObject {
  const {
    channel: _channel,
    notifies: _notifies,
    ephemeral_to: _ephemeral,
    metadata,
    ...appFields
  } = message;
  const appMessage: JsonObject = JSON.parse(JSON.stringify(appFields));
  return includeMetadata && metadata ? { ...appMessage, metadata: { ...metadata } } : appMessage;
}
