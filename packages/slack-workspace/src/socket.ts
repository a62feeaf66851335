import { randomBytes } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { type WebSocket, WebSocketServer } from 'ws';
import { z } from 'zod';
import type { Json, JsonObject } from './protocol.ts';
import { APP } from './seed.ts';

const acknowledgementSchema = z.object({ envelope_id: z.string(), payload: z.json().optional() });

const TICKET_LIFETIME_MS = 30_000;
const PING_INTERVAL_MS = 10_000;
const MAX_MESSAGE_BYTES = 4 * 1024 * 1024;

export type EnvelopeType = 'slash_commands' | 'interactive' | 'events_api';

/** The server side of Socket Mode (docs.slack.dev, using Socket Mode). */
export class SocketMode {
  readonly #tickets = new Map<string, number>();
  readonly #server = new WebSocketServer({ noServer: true, maxPayload: MAX_MESSAGE_BYTES });
  readonly #connections = new Set<WebSocket>();
  readonly #reconnectingConnections = new WeakSet<WebSocket>();
  #connectionTurn = 0;
  readonly #pendingAcknowledgements = new Map<string, (payload: Json | undefined) => void>();
  readonly #onConnectionChange: () => void;
  readonly #pingTimer: NodeJS.Timeout;

  constructor(onConnectionChange: () => void) {
    this.#onConnectionChange = onConnectionChange;
    this.#pingTimer = setInterval(() => {
      for (const connection of this.#connections) connection.ping('Ping from local workspace');
    }, PING_INTERVAL_MS).unref();
  }

  get connectionCount(): number {
    return this.#connections.size;
  }

  /** Returns the path for `apps.connections.open`. Its ticket can open one connection. */
  issuePath(): string {
    const ticket = randomBytes(16).toString('hex');
    this.#tickets.set(ticket, Date.now() + TICKET_LIFETIME_MS);
    return `/link/?ticket=${ticket}&app_id=${APP.id}`;
  }

  handleUpgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    const url = new URL(request.url ?? '/', 'http://workspace');
    const ticket = url.searchParams.get('ticket') ?? '';
    const validUntil = this.#tickets.get(ticket) ?? 0;
    this.#tickets.delete(ticket);
    if (url.pathname !== '/link/' || validUntil < Date.now()) {
      socket.end('HTTP/1.1 404 Not Found\r\nConnection: close\r\n\r\n');
      return;
    }
    this.#server.handleUpgrade(request, socket, head, (connection) => this.#accept(connection));
  }

  #accept(connection: WebSocket): void {
    this.#connections.add(connection);
    connection.on('message', (data) => this.#handleAcknowledgement(String(data)));
    // Each error is followed by `close`, which is handled below.
    connection.on('error', () => undefined);
    connection.on('close', () => {
      this.#connections.delete(connection);
      this.#onConnectionChange();
    });
    connection.send(
      JSON.stringify({
        type: 'hello',
        num_connections: this.#connections.size,
        connection_info: { app_id: APP.id },
        debug_info: { host: 'local-workspace', approximate_connection_time: 18_060 },
      }),
    );
    this.#onConnectionChange();
  }

  /**
   * Sends an envelope, using the connections in turn. Connections that were asked to reconnect are used only if there
   * are no others.
   * @returns the payload of the acknowledgement; the promise may never settle, so race it against a timeout
   */
  send(
    type: EnvelopeType,
    payload: JsonObject,
    retry?: { num: number; reason: string },
  ): Promise<Json | undefined> {
    const connections = [...this.#connections];
    const stayingConnections = connections.filter(
      (candidate) => !this.#reconnectingConnections.has(candidate),
    );
    const usableConnections = stayingConnections.length > 0 ? stayingConnections : connections;
    this.#connectionTurn += 1;
    const connection = usableConnections[this.#connectionTurn % usableConnections.length];
    if (!connection) return Promise.reject(new Error('no Socket Mode connection is open'));
    const envelopeId = randomBytes(16).toString('hex');
    return new Promise((resolve) => {
      this.#pendingAcknowledgements.set(envelopeId, resolve);
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

  /** Asks all connected apps to reconnect, as Slack does every few hours. */
  askToReconnect(): void {
    const text = JSON.stringify({
      type: 'disconnect',
      reason: 'refresh_requested',
      debug_info: { host: 'local' },
    });
    for (const connection of this.#connections) {
      this.#reconnectingConnections.add(connection);
      connection.send(text);
    }
  }

  /** Cuts all connections without a close message, like a broken network. */
  disconnect(): void {
    for (const connection of this.#connections) connection.terminate();
  }

  close(): void {
    clearInterval(this.#pingTimer);
    this.disconnect();
  }

  #handleAcknowledgement(text: string): void {
    const { success, data } = acknowledgementSchema.safeParse(parseJson(text));
    if (!success) return;
    const resolve = this.#pendingAcknowledgements.get(data.envelope_id);
    this.#pendingAcknowledgements.delete(data.envelope_id);
    resolve?.(data.payload);
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
