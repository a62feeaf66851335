import { createContext } from 'preact';
import { useContext } from 'preact/hooks';
import type { Channel, InputValue, Snapshot, User } from '../src/protocol.ts';
import type { PlacedElement } from './forms.ts';
import type { HighlightTarget, HostParts } from './host.ts';
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
  target: HighlightTarget | undefined;
  formHelp: HostParts['formHelp'];
  warn(text: string): void;
  /** The newest read `ts`, by channel id, or by `channel/ts` for a thread. */
  newestReadTs: Readonly<Record<string, string>>;
  markRead(key: string, ts: string): void;
}

const ChatContext = createContext<Chat | undefined>(undefined);
export const ChatProvider = ChatContext.Provider;

export function useChat(): Chat {
  const chat = useContext(ChatContext);
  if (chat === undefined) throw new Error('useChat was called outside a ChatProvider');
  return chat;
}

/** A message or view: the values and actions of its elements. */
export interface Surface {
  /** Unique on the page; ids of elements start with it. */
  id: string;
  /** The message's `ts`, for a message. */
  ts?: string;
  getValue(placed: PlacedElement): InputValue;
  setValue(placed: PlacedElement, value: InputValue): void;
  /** Called on Enter in a text input. */
  handleEnter(placed: PlacedElement): void;
  /** Clicks a button, or selects an option of a menu that sends the selection immediately. */
  sendAction(placed: PlacedElement, chosen?: string): void;
  /** Error texts by block id. */
  errors: Readonly<Record<string, string>>;
  /** The key of the element whose click the app hasn't acknowledged yet. */
  pendingKey: string | undefined;
}

const SurfaceContext = createContext<Surface | undefined>(undefined);
export const SurfaceProvider = SurfaceContext.Provider;

export function useSurface(): Surface {
  const surface = useContext(SurfaceContext);
  if (surface === undefined) throw new Error('useSurface was called outside a SurfaceProvider');
  return surface;
}
