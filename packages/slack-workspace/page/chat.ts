import { createContext } from 'preact';
import { useContext } from 'preact/hooks';
import type { Channel, InputValue, Snapshot, User } from '../src/protocol.ts';
import type { PlacedElement } from './forms.ts';
import type { HostParts, Target } from './host.ts';
import type { Place } from './place.ts';

/** Data and actions shared by all chat components. */
export interface Chat {
  snapshot: Snapshot;
  me: User;
  users: ReadonlyMap<string, User>;
  channels: ReadonlyMap<string, Channel>;
  place: Place;
  go(place: Place): void;
  /** The element that the host highlights. */
  target: Target | undefined;
  formHelp: HostParts['formHelp'];
  warn(text: string): void;
  /** The newest read `ts` of a channel, or of `channel/ts` for a thread. */
  reads: Readonly<Record<string, string>>;
  markRead(key: string, ts: string): void;
}

const ChatContext = createContext<Chat | undefined>(undefined);
export const ChatProvider = ChatContext.Provider;

export function useChat(): Chat {
  const chat = useContext(ChatContext);
  if (chat === undefined) throw new Error('used outside of the chat');
  return chat;
}

/** The message or view with some blocks: the values of its elements, and their actions. */
export interface Surface {
  /** Unique on the page; ids of elements start with it. */
  id: string;
  /** The message's `ts`, for a message. */
  ts?: string;
  value(placed: PlacedElement): InputValue;
  /** Sets the value of an element. */
  change(placed: PlacedElement, value: InputValue): void;
  /** Called on Enter in a text input. */
  enter(placed: PlacedElement): void;
  /** Clicks a button, or chooses in a menu whose choice is sent immediately. */
  press(placed: PlacedElement, chosen?: string): void;
  /** By block id. */
  errors: Readonly<Record<string, string>>;
  /** The element whose click the app hasn't answered yet. */
  pending: string | undefined;
}

const SurfaceContext = createContext<Surface | undefined>(undefined);
export const SurfaceProvider = SurfaceContext.Provider;

export function useSurface(): Surface {
  const surface = useContext(SurfaceContext);
  if (surface === undefined) throw new Error('used outside of a message or view');
  return surface;
}
