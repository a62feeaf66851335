import { z } from 'zod';
import { DEMO_CONTEXT } from '../accounts/account.ts';
import { type DependentName, hostOfTarget, isUnder } from '../names/dependents.ts';
import { isInUse } from '../names/in-use.ts';
import type { ImpactStore, ObservationStore, ObservedName } from '../names/ports.ts';
import { storedHistory, storedImpact, storedLedger } from '../names/stored.ts';
import { insertAlarms } from './alarms.ts';
import { optional } from './columns.ts';
import { type Database, Prisma, storeOf } from './database.ts';
import { isLeaseOver, leaseOf } from './leases.ts';
import { insertPlans } from './notifications.ts';

/** A name that appears in the records of more others than this is not searched any further. */
const MAX_MENTIONING = 2_000;

const names = z.array(z.object({ name: z.string() }));
const row = z
  .object({
    name: z.string(),
    version: z.number(),
    history: storedHistory,
    ledger: storedLedger,
    nextDnsAt: z.date(),
    nextRegistryAt: z.date(),
    isRegistryReserved: z.boolean(),
    isUrgent: z.boolean(),
  })
  .transform((found): ObservedName => found);
const rows = z.array(row);

const COLUMNS = Prisma.raw(
  'name, version, history, ledger, next_dns_at AS "nextDnsAt", next_registry_at AS "nextRegistryAt", registry_reserved AS "isRegistryReserved", urgent AS "isUrgent"',
);

/**
 * What is known of watched names, in PostgreSQL.
 * @throws {StoreError} from every method, when the database fails
 */
export function createObservationStore({ run }: Database, teamId: string): ObservationStore {
  return storeOf('observations', {
    find: async (name) => {
      const found = await run(
        Prisma.sql`SELECT ${COLUMNS} FROM name_observations WHERE team_id = ${teamId} AND name = ${name}`,
      );
      return rows.parse(found)[0];
    },

    findMany: async (wanted) =>
      rows.parse(
        await run(
          Prisma.sql`SELECT ${COLUMNS} FROM name_observations WHERE team_id = ${teamId} AND name = ANY(${[...wanted]})`,
        ),
      ),

    followWatchList: async (now) => {
      await run(Prisma.sql`
        DELETE FROM name_observations o
        WHERE team_id = ${teamId} AND NOT EXISTS (SELECT 1 FROM domains d WHERE d.name = o.name)`);
      await run(Prisma.sql`
        INSERT INTO name_observations (team_id, name, next_dns_at, next_registry_at, due_at, urgent)
        SELECT ${teamId}, d.name, ${now}::timestamptz, ${now}::timestamptz, ${now}::timestamptz, false
        FROM domains d
        WHERE NOT EXISTS (
          SELECT 1 FROM name_observations o WHERE o.team_id = ${teamId} AND o.name = d.name)
        ON CONFLICT DO NOTHING`);
    },

    requestLook: async (name, now) => {
      await run(Prisma.sql`
        INSERT INTO name_observations (team_id, name, next_dns_at, next_registry_at, due_at, urgent)
        SELECT ${teamId}, name, ${now}::timestamptz, ${now}::timestamptz, ${now}::timestamptz, true
        FROM domains WHERE name = ${name}
        ON CONFLICT (team_id, name) DO UPDATE
        SET next_dns_at = LEAST(name_observations.next_dns_at, ${now}::timestamptz),
            next_registry_at = LEAST(name_observations.next_registry_at, ${now}::timestamptz),
            due_at = LEAST(name_observations.due_at, ${now}::timestamptz), urgent = true`);
    },

    claimDue: async (now, leaseMs, limit) => {
      const claimed = await run(Prisma.sql`
        WITH due AS (
          SELECT name, urgent, due_at FROM name_observations
          WHERE team_id = ${teamId} AND due_at <= ${now}::timestamptz
            AND ${isLeaseOver(Prisma.sql`lease_until`)}
          ORDER BY urgent DESC, due_at LIMIT ${limit} FOR UPDATE SKIP LOCKED
        ), claimed AS (
          UPDATE name_observations o SET lease_until = ${leaseOf(leaseMs)}
          FROM due WHERE o.team_id = ${teamId} AND o.name = due.name
          RETURNING o.name, due.urgent, due.due_at
        )
        SELECT name FROM claimed ORDER BY urgent DESC, due_at`);
      return names.parse(claimed).map(({ name }) => name);
    },

    save: async (before, after, alarms = []) => {
      const due = new Date(Math.min(after.nextDnsAt.getTime(), after.nextRegistryAt.getTime()));
      const update = Prisma.sql`
        UPDATE name_observations SET version = version + 1, lease_until = NULL,
          history = ${JSON.stringify(after.history)}::jsonb, ledger = ${JSON.stringify(after.ledger)}::jsonb,
          next_dns_at = ${after.nextDnsAt}, next_registry_at = ${after.nextRegistryAt}, due_at = ${due},
          registry_reserved = ${after.isRegistryReserved}, urgent = ${after.isUrgent},
          in_use = ${isInUse(after.history) ?? null}::boolean
        WHERE team_id = ${teamId} AND name = ${before.name} AND version = ${before.version}
        RETURNING name`;
      const saved = await run(
        alarms.length === 0
          ? update
          : Prisma.sql`
            WITH saved AS (${update}), ${insertAlarms(teamId, alarms, Prisma.sql`SELECT 1 FROM saved`)},
            plans AS (${insertPlans(Prisma.sql`SELECT * FROM raised`)})
            SELECT name FROM saved`,
      );
      return names.parse(saved).length > 0;
    },

    mentioning: async (name) => {
      const [found, redirected] = await Promise.all([
        run(Prisma.sql`
          SELECT ${COLUMNS} FROM name_observations
          WHERE team_id = ${teamId} AND name <> ${name} AND strpos(history::text, ${name}) > 0
          ORDER BY name LIMIT ${MAX_MENTIONING}`),
        run(selectRedirects(name)),
      ]);
      return [
        ...rows.parse(found).map(dependentName),
        ...redirectRows
          .parse(redirected)
          .map(redirectedName)
          .filter((source) => !isUnder(source.name, name)),
      ];
    },
  });
}

const redirectRows = z.array(
  z.object({ source: z.string(), target: z.string(), backup: z.string().nullable() }),
);

/**
 * The latest live order that has set each redirect, where it may lead to a name. A target in other letters, or with
 * escapes, is for whoever reads its host.
 */
function selectRedirects(name: string): Prisma.Sql {
  return Prisma.sql`
    SELECT source, target, backup FROM (
      SELECT DISTINCT ON (i.name) i.name AS source, o.input ->> 'target' AS target, o.input ->> 'backup' AS backup
      FROM orders o JOIN order_items i ON i.order_id = o.id
      WHERE o.task = 'redirect' AND o.state = 'SUCCEEDED' AND o.context IS DISTINCT FROM ${DEMO_CONTEXT}
      ORDER BY i.name, o.created_at DESC
    ) latest, lower(concat_ws(' ', target, backup)) AS targets
    WHERE strpos(targets, ${name}) > 0 OR targets ~ '[^ -~]|%'
    ORDER BY source LIMIT ${MAX_MENTIONING}`;
}

function redirectedName({ source, target, backup }: z.infer<typeof redirectRows>[number]): DependentName {
  const redirectTargets = backup === null ? [target] : [target, backup];
  return { name: hostOfTarget(source), nameServers: [], mailServers: [], redirectTargets };
}

/** Where a name leads, as far as it was ever seen: what is not seen now may be there still, and one sighting is enough. */
function dependentName({ name, history }: ObservedName): DependentName {
  const { nameservers, registry_nameservers, parent_nameservers, mx, cname, www_cname } = history;
  const valuesOf = (known: typeof mx) => [
    ...(known?.current?.value ?? []),
    ...(known?.candidate?.value ?? []),
  ];
  return {
    name,
    nameServers: [nameservers, registry_nameservers, parent_nameservers].flatMap(valuesOf),
    mailServers: valuesOf(mx).map((text) => text.slice(text.indexOf(' ') + 1)),
    redirectTargets: [cname, www_cname].flatMap(valuesOf),
  };
}

const impactRows = z.array(
  z.object({
    asked: storedImpact,
    latest: storedImpact,
    warned: optional(storedImpact),
    isThorough: z.boolean(),
  }),
);

const nameServerRows = z.array(z.object({ nameServers: z.array(z.string()).nullable() }));

/** Impacts of orders, in PostgreSQL. @throws {StoreError} from every method, when the database fails */
export function createImpactStore({ run }: Database, teamId: string): ImpactStore {
  return storeOf('impacts', {
    impactOf: async (orderId) => {
      const rows = await run(
        Prisma.sql`SELECT asked, latest, warned, thorough AS "isThorough" FROM order_impacts WHERE order_id = ${orderId}`,
      );
      return impactRows.parse(rows)[0];
    },

    saveNameServers: async (orderId, nameServers) => {
      await run(Prisma.sql`
        UPDATE order_impacts SET name_servers = ${JSON.stringify(nameServers)}::jsonb
        WHERE order_id = ${orderId} AND name_servers IS NULL`);
    },

    nameServersOf: async (orderId) => {
      const found = await run(
        Prisma.sql`SELECT name_servers AS "nameServers" FROM order_impacts WHERE order_id = ${orderId}`,
      );
      return nameServerRows.parse(found)[0]?.nameServers ?? undefined;
    },

    saveImpact: async (orderId, impact, look) => {
      const json = JSON.stringify(impact);
      // Whoever shows the order at this moment finds that what it shows is not the latest, and shows it again.
      await run(Prisma.sql`
        WITH kept AS (
          INSERT INTO order_impacts (order_id, team_id, asked, latest, warned, thorough)
          SELECT id, ${teamId}, ${json}::jsonb, ${json}::jsonb, ${look === 'approval' ? json : null}::jsonb,
            ${look !== 'asking'} FROM orders WHERE id = ${orderId}
          ON CONFLICT (order_id) DO UPDATE SET latest = excluded.latest, thorough = excluded.thorough,
            warned = COALESCE(excluded.warned, order_impacts.warned)
          RETURNING order_id
        )
        UPDATE notifications n SET version = n.version + 1, due_at = LEAST(n.due_at, ${impact.seenAt}::timestamptz)
        FROM kept JOIN orders o ON o.id = kept.order_id
        WHERE n.team_id = o.team_id AND n.subject_kind = 'order' AND n.subject_id = o.id AND n.purpose = 'plan'
          AND ${look !== 'asking'}`);
    },
  });
}
