import type pg from 'pg';

/** Half of the names are in the first zone, the others in the other zones, in turn. */
const ZONES = ['rest', 'example', 'co.uk', 'page', 'com.de', 'shop', 'bar', 'cafe', 'club', 'site', 'brand'];

/**
 * Fills an empty watch list with a typical large portfolio: expiry dates over three years, registrars, owners, tags,
 * some notes, and whether the name is in use. No lookup is due.
 */
export async function fillPortfolio(
  client: pg.Client | pg.Pool,
  teamId: string,
  nameCount: number,
): Promise<void> {
  await client.query(
    `INSERT INTO domains (name, expires_at, expiry_source, added_by, added_at, next_dns_lookup_at, next_registry_lookup_at,
       last_lookup_at, tags, owner_id, note, registrar, team_id, urgent, in_use, history)
     SELECT 'name' || n || '.' || ($2::text[])[CASE WHEN n % 2 = 0 THEN 1 ELSE 2 + n / 2 % 10 END],
       CASE WHEN n % 50 = 7 THEN NULL ELSE now() + interval '15 minutes' * (n * 7919 % 100000) END, 'rdap', 'U0ALICE', now(),
       now() + interval '10 years', now() + interval '10 years', now(),
       CASE WHEN n % 400 = 0 THEN ARRAY['client-acme', 'brand'] ELSE ARRAY['client-' || n % 300, 'c' || n % 40] END,
       CASE WHEN n % 7 = 0 THEN NULL ELSE 'U0OWNER' || n % 200 END,
       CASE WHEN n % 20 = 0 THEN 'Asked for by the marketing of client ' || n % 300 || ', see the contract' END,
       CASE WHEN n % 90 = 0 THEN 'Sandbox Registrar Ltd' ELSE 'Registrar Number ' || n % 60 || ' GmbH' END, $3::text, false,
       CASE WHEN n % 20 = 0 THEN false WHEN n % 20 = 1 THEN NULL ELSE true END,
       jsonb_build_object('a', jsonb_build_object('current', jsonb_build_object('value', jsonb_build_array('198.51.100.7'),
         'firstSeen', now(), 'lastSeen', now()), 'past', jsonb_build_array()))
     FROM generate_series(1, $1::int) n`,
    [nameCount, ZONES, teamId],
  );
  await client.query('VACUUM ANALYZE domains');
}
