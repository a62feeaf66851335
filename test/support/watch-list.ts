import type pg from 'pg';

export interface WatchListSize {
  readonly names: number;
  /** How many of them pass the threshold of 60 days today. */
  readonly due: number;
}

/**
 * Fills an empty watch list with a typical state. Names expire throughout the year. Earlier reminders are sent,
 * for thresholds of 60, 30, 14, 7, 3 and 1 days. Some names pass a threshold today.
 */
export async function fillWatchList(
  client: pg.Client,
  now: Date,
  { names, due }: WatchListSize,
): Promise<void> {
  await client.query("SET TIME ZONE 'UTC'");
  await client.query(
    `INSERT INTO domains (name, expires_at, expiry_source, added_by, added_at, next_dns_lookup_at, next_registry_lookup_at, reminded_threshold)
     SELECT 'name' || n || '.rest', $1::timestamptz + interval '1 day' * (n % 365) + interval '3 hours', 'rdap', 'U0ALICE',
            $1, $1::timestamptz + interval '1 second' * n, $1::timestamptz + interval '1 second' * n,
            COALESCE((SELECT min(t) FROM unnest(ARRAY[60, 30, 14, 7, 3, 1]) t WHERE t >= n % 365), 2147483647)
     FROM generate_series(1, $2::int) n`,
    [now, names],
  );
  await client.query(
    `INSERT INTO reminders (name, expires_at, threshold, digest_id, claimed_at)
     SELECT name, date_trunc('day', expires_at), reminded_threshold, 'before', $1
     FROM domains WHERE reminded_threshold <= 60`,
    [now],
  );
  await client.query(
    `UPDATE domains SET expires_at = $1::timestamptz + interval '60 days'
     WHERE name IN (SELECT name FROM domains WHERE expires_at > $1::timestamptz + interval '100 days' LIMIT $2::int)`,
    [now, due],
  );
  await client.query('VACUUM ANALYZE domains');
  await client.query('VACUUM ANALYZE reminders');
}
