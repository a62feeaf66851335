import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { z } from 'zod';
import { HOUR_MS, MINUTE_MS } from '../lib/duration.ts';
import type { Log } from '../lib/log.ts';
import { optional } from './columns.ts';
import { withStoreError } from './database.ts';
import { SET_SEARCH_PATH } from './session-settings.ts';

export interface OrderFigures {
  readonly byState: Readonly<Record<string, number>>;
  readonly queueAgeSeconds: number;
  readonly unsealedSeconds: number;
}

/** Reads health and metrics. Uses its own connections, because orders may use up all others. */
export interface DatabaseProbe {
  /** @returns whether the database responds in time; never throws */
  ping(): Promise<boolean>;
  /** @throws {StoreError} on a timeout */
  readOrderFigures(now: Date): Promise<OrderFigures>;
  /** @throws {StoreError} on a timeout */
  readHealthFigures(now: Date): Promise<z.infer<typeof healthFigureRowsSchema>[0]>;
  /**
   * @returns how long the oldest unsealed event has been waiting for a seal
   * @throws {StoreError} on a timeout
   */
  readUnsealedSeconds(): Promise<number>;
  close(): Promise<void>;
}

/** The longest wait for a connection or a result. Load balancers and Prometheus wait longer. */
const TIMEOUT_MS = 1_500;
/** One for counting orders, and one for pings at the same time. */
const MAX_CONNECTIONS = 2;

const stateRowsSchema = z.array(z.object({ state: z.string(), count: z.number(), oldest: z.date() }));

/** A lookup that has been due for this long is overdue. */
const OVERDUE_AFTER_MS = HOUR_MS;

/** Times are in seconds since 1970. */
const healthFigureRowsSchema = z.tuple([
  z.object({
    databaseBytes: z.number(),
    names: z.number(),
    overdueLookups: z.number(),
    lastDigestAt: optional(z.number()),
    lastSealAt: optional(z.number()),
    lastAnchorAt: optional(z.number()),
    lastWebhookAt: optional(z.number()),
    webhookWaitingSeconds: z.number(),
  }),
]);

const SELECT_HEALTH_FIGURES = `
  SELECT pg_database_size(current_database())::float8 AS "databaseBytes", count(*)::int AS names,
    (count(*) FILTER (WHERE least(next_dns_lookup_at, next_registry_lookup_at) < $1))::int AS "overdueLookups",
    (SELECT extract(epoch FROM max(posted_at))::float8 FROM notifications WHERE subject_kind = 'digest') AS "lastDigestAt",
    (SELECT extract(epoch FROM max(at))::float8 FROM seals WHERE team_id = installation_team()) AS "lastSealAt",
    (SELECT extract(epoch FROM max(at))::float8 FROM anchors WHERE team_id = installation_team()) AS "lastAnchorAt",
    (SELECT extract(epoch FROM max(taken_at))::float8 FROM webhook_endpoints
      WHERE team_id = installation_team()) AS "lastWebhookAt",
    (SELECT greatest(0, coalesce(extract(epoch FROM $2::timestamptz - min(d.at)), 0))::float8
      FROM webhook_deliveries d JOIN webhook_endpoints e ON e.team_id = d.team_id AND e.id = d.endpoint_id
      WHERE e.team_id = installation_team() AND e.served_at > $2::timestamptz - interval '3 hours') AS "webhookWaitingSeconds"
  FROM domains`;
const secondsRowsSchema = z.tuple([z.object({ seconds: z.number() })]);

/** Connects to the database on the first query. */
export function openProbe({ url, log }: { readonly url: string; readonly log?: Log }): DatabaseProbe {
  const pool = new pg.Pool({
    connectionString: url,
    application_name: 'domain-steward-probe',
    max: MAX_CONNECTIONS,
    keepAlive: true,
    connectionTimeoutMillis: TIMEOUT_MS,
    query_timeout: TIMEOUT_MS,
    idleTimeoutMillis: MINUTE_MS,
    // Set by a statement, because PgBouncer rejects it as a connection parameter.
    onConnect: async (client) => {
      await client.query(`${SET_SEARCH_PATH}; SET statement_timeout = ${TIMEOUT_MS}`);
    },
  });
  // The running query already fails with the error. Without a listener, the error would also end the process.
  pool.on('connect', (client) => client.on('error', () => undefined));
  pool.on('error', (err) => {
    // When an embedded server stops, it breaks connections that are already closing.
    if (!pool.ending) log?.warn({ err }, 'a connection to the database broke');
  });
  const readUnsealedSeconds = () =>
    withStoreError('reading the age of unsealed events', async () => {
      const { rows } = await pool.query(
        'SELECT coalesce(extract(epoch FROM now() - min(since)), 0)::float8 AS seconds FROM unsealed_events',
      );
      return secondsRowsSchema.parse(rows)[0].seconds;
    });
  return {
    readUnsealedSeconds,

    async ping() {
      const timeoutController = new AbortController();
      try {
        return await Promise.race([
          pool.query('SELECT 1').then(
            () => true,
            () => false,
          ),
          sleep(TIMEOUT_MS, false, { signal: timeoutController.signal }),
        ]);
      } finally {
        timeoutController.abort();
      }
    },

    readOrderFigures: (now) =>
      withStoreError('counting orders', async () => {
        const { rows } = await pool.query(
          'SELECT state, count(*)::int AS count, min(updated_at) AS oldest FROM orders GROUP BY state',
        );
        const states = stateRowsSchema.parse(rows);
        const oldestApproved = states.find(({ state }) => state === 'APPROVED')?.oldest ?? now;
        return {
          byState: Object.fromEntries(states.map(({ state, count }) => [state, count])),
          queueAgeSeconds: Math.max(0, (now.getTime() - oldestApproved.getTime()) / 1_000),
          unsealedSeconds: await readUnsealedSeconds(),
        };
      }),

    readHealthFigures: (now) =>
      withStoreError('reading health figures', async () => {
        const { rows } = await pool.query(SELECT_HEALTH_FIGURES, [
          new Date(now.getTime() - OVERDUE_AFTER_MS),
          now,
        ]);
        return healthFigureRowsSchema.parse(rows)[0];
      }),

    close: () => pool.end(),
  };
}
