import { randomBytes } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { z } from 'zod';
import type { Json, JsonObject } from './protocol.ts';
import { APP } from './seed.ts';
import { acceptWebSocket, type WebSocketConnection } from './websocket.ts';

const acknowledgement = z.object({ envelope_id: z.string(), payload: z.json().optional() });

const TICKET_VALID_MS = 30_000;
const PING_EVERY_MS = 10_000;

export type EnvelopeType = 'slash_commands' | 'interactive' | 'events_api';

/** The server's side of Socket Mode (docs.slack.dev, using Socket Mode). */
export class SocketMode {
  readonly #tickets = new Map<string, number>();
  readonly #connections = new Set<WebSocketConnection>();
  readonly #leaving = new WeakSet<WebSocketConnection>();
  #turn = 0;
  readonly #waiting = new Map<string, (payload: Json | undefined) => void>();
  readonly #changed: () => void;
  readonly #pings: NodeJS.Timeout;

  constructor(changed: () => void) {
    this.#changed = changed;
    this.#pings = setInterval(() => {
      for (const connection of this.#connections) connection.ping();
    }, PING_EVERY_MS).unref();
  }

  /** Number of open connections. */
  get connections(): number {
    return this.#connections.size;
  }

  /** The path for `apps.connections.open`; its ticket opens one connection. */
  issuePath(): string {
    const ticket = randomBytes(16).toString('hex');
    this.#tickets.set(ticket, Date.now() + TICKET_VALID_MS);
    return `/link/?ticket=${ticket}&app_id=${APP.id}`;
  }

  upgrade(request: IncomingMessage, socket: Duplex, url: URL): void {
    const ticket = url.searchParams.get('ticket') ?? '';
    const validUntil = this.#tickets.get(ticket) ?? 0;
    this.#tickets.delete(ticket);
    if (url.pathname !== '/link/' || validUntil < Date.now()) {
      socket.end('HTTP/1.1 404 Not Found\r\nConnection: close\r\n\r\n');
      return;
    }
    const connection = acceptWebSocket(request, socket);
    if (!connection) return;
    this.#connections.add(connection);
    connection.onMessage((text) => this.#acknowledged(text));
    connection.onClose(() => {
      this.#connections.delete(connection);
      this.#changed();
    });
    connection.send(
      JSON.stringify({
        type: 'hello',
        num_connections: this.#connections.size,
        connection_info: { app_id: APP.id },
        debug_info: { host: 'local-workspace', approximate_connection_time: 18_060 },
      }),
    );
    this.#changed();
  }

  /**
   * Sends one envelope over one of the connections, each in its turn; one that was asked to go only gets it where
   * there is no other.
   *
   * @returns the payload of the acknowledgement; the promise stays open until it comes, so race it with a timeout.
   */
  send(
    type: EnvelopeType,
    payload: JsonObject,
    retry?: { num: number; reason: string },
  ): Promise<Json | undefined> {
    const open = [...this.#connections];
    const staying = open.filter((each) => !this.#leaving.has(each));
    const usable = staying.length > 0 ? staying : open;
    this.#turn += 1;
    const connection = usable[this.#turn % usable.length];
    if (!connection) return Promise.reject(new Error('no Socket Mode connection is open'));
    const envelopeId = randomBytes(16).toString('hex');
    return new Promise((resolve) => {
      this.#waiting.set(envelopeId, resolve);
      connection.send(
        JSON.stringify({
          envelope_id: envelopeId,
          type,
          payload,
          accepts_response_payload: type !== 'events_api',
          ...(type === 'events_api' && { retry_attempt: retry?.num ?? 0, retry_reason: retry?.reason ?? '' }),
        }),
      );
    });
  }

  /** Asks every connected app to connect anew, as Slack does every few hours. */
  askToReconnect(): void {
    const text = JSON.stringify({
      type: 'disconnect',
      reason: 'refresh_requested',
      debug_info: { host: 'local' },
    });
    for (const connection of this.#connections) {
      this.#leaving.add(connection);
      connection.send(text);
    }
  }

  /** Cuts every connection without a word, as a broken network does. */
  cut(): void {
    for (const connection of this.#connections) connection.destroy();
  }

  close(): void {
    clearInterval(this.#pings);
    this.cut();
  }

  #acknowledged(text: string): void {
    const parsed = acknowledgement.safeParse(JSON.parse(text));
    if (!parsed.success) return;
    const waiting = this.#waiting.get(parsed.data.envelope_id);
    this.#waiting.delete(parsed.data.envelope_id);
    waiting?.(parsed.data.payload);
  }
}
