import { z } from 'zod';
import { DEMO_CONTEXT } from '../accounts/account.ts';
import { hasNewExpiry } from '../names/dates.ts';
import { type DependentName, isHostInDomain, parseTargetHost } from '../names/dependents.ts';
import { getRegistrarName, type UnknownReason } from '../names/facts.ts';
import { type Impact, listFindingKeys } from '../names/impact.ts';
import { isInUse } from '../names/in-use.ts';
import { GUARDED_TAG } from '../names/portfolio.ts';
import type { ImpactStore, NameObservation, NameRecord, NameRecordStore } from '../names/ports.ts';
import { DANGER_CODES, DELEGATION_FINDINGS, FINDING_CODES, type FindingCode } from '../names/posture.ts';
import { storedHistorySchema, storedImpactSchema, storedValuesSchema } from '../names/stored.ts';
import type { OrderTaskName } from '../orders/order.ts';
import type { WebhookEvent } from '../outbox/webhooks/messages.ts';
import { assignColumns, defineRow, optional, toStorableJson } from './columns.ts';
import { type Database, Prisma, type Statement, wrapStore } from './database.ts';
import {
  CLEARED_LAPSE,
  CLEARED_SNOOZE,
  nameRecordRow,
  toDateColumns,
  toDates,
  toLapse,
} from './domain-rows.ts';
import { buildReminderUpdates, insertObservations } from './domain-statements.ts';
import { saveIncident } from './incidents.ts';
import { buildLeaseEnd, isLeaseExpired } from './leases.ts';
import { queueWebhooks } from './webhooks.ts';

const MAX_DEPENDENTS = 2_000;

const nameRowsSchema = z.array(z.object({ name: z.string() }));

function readRecords(rows: unknown): NameRecord[] {
  return nameRecordRow.read(rows).map((record) => {
    const { name, version, history, knownChanges, posture, findings } = record;
    const { nextDnsLookupAt, nextRegistryLookupAt, registryReserved, urgent } = record;
    return {
      ...{ name, version, history, knownChanges, posture, findings, nextDnsLookupAt, nextRegistryLookupAt },
      hasOwner: record.ownerId !== undefined && record.ownerLeftAt === undefined,
      ...toDates(record),
      lapse: toLapse(record),
      isRegistryReserved: registryReserved,
      isUrgent: urgent,
    };
  });
}

const faultyNameRowsSchema = z.array(z.object({ name: z.string(), faults: z.array(z.enum(FINDING_CODES)) }));
/** More than a digest shows. */
const MAX_DIGEST_NAMES = 200;
const missingRecordRowsSchema = z.array(
  z.object({ zone: z.string(), count: z.number(), names: z.array(z.string()) }),
);
const expiringCertificateRowsSchema = z.array(
  z.object({ host: z.string(), endsAt: z.date(), seenAt: z.date() }),
);
const renewedNameRowsSchema = z.array(z.object({ name: z.string(), expiresAt: z.date() }));
/** Tasks that change the expiry. */
const RENEWING_TASKS: string[] = ['create', 'renew', 'transfer', 'restore'] satisfies OrderTaskName[];
const DELEGATED_WITHOUT_RECORD: UnknownReason = 'delegated_without_record';
const MAX_NAMES_PER_REGISTRY = 5;
const guardedNameRowsSchema = z.array(z.object({ name: z.string(), history: storedHistorySchema }));
const sightingRowsSchema = z.array(z.object({ at: z.date(), data: z.object({ seen: storedValuesSchema }) }));

/** More changes than a registry can make between two successful lookups. */
const MAX_REGISTRY_SIGHTINGS = 200;
const DUE_AT = Prisma.raw('LEAST(next_dns_lookup_at, next_registry_lookup_at)');

export function createNameRecordStore(
  { run, prisma, transaction }: Database,
  teamId: string,
): NameRecordStore {
  const findMany = async (names: readonly string[]) =>
    readRecords(
      await run(Prisma.sql`SELECT ${nameRecordRow.columns} FROM domains WHERE name = ANY(${[...names]})`),
    );

  return wrapStore('names', {
    find: async (name) => (await findMany([name]))[0],

    findMany,

    listRegistrySightings: async (name) => {
      const rows = await prisma.observation.findMany({
        where: { name, origin: 'registry' },
        orderBy: { seq: 'desc' },
        take: MAX_REGISTRY_SIGHTINGS,
      });
      return sightingRowsSchema.parse(rows).map(({ at, data }) => ({ at, seen: data.seen }));
    },

    requestLookup: async (name, now) => {
      const columns = {
        nextDnsLookupAt: now,
        nextRegistryLookupAt: now,
        registryReserved: false,
        urgent: true,
      };
      await prisma.domain.updateMany({ where: { name }, data: { version: { increment: 1 }, ...columns } });
    },

    listGuarded: async () =>
      guardedNameRowsSchema.parse(
        await run(Prisma.sql`
          SELECT name, jsonb_strip_nulls(jsonb_build_object(
            'parent_nameservers', history -> 'parent_nameservers', 'ds', history -> 'ds')) AS history
          FROM domains WHERE tags @> ARRAY[${GUARDED_TAG}] ORDER BY name`),
      ),

    listNewlyFaultyNames: async (from, to) =>
      faultyNameRowsSchema.parse(
        await run(Prisma.sql`
          SELECT d.name, array_agg(f.code ORDER BY array_position(${[...FINDING_CODES]}::text[], f.code)) AS faults
          FROM domains d, jsonb_to_recordset(d.posture -> 'findings') AS f (code text, since float8)
          WHERE f.code = ANY (${[...DELEGATION_FINDINGS]}::text[])
            AND f.since > ${from.getTime()} AND f.since <= ${to.getTime()}
          GROUP BY d.name ORDER BY d.name LIMIT ${MAX_DIGEST_NAMES}`),
      ),

    listExpiringCertificates: async (now) =>
      expiringCertificateRowsSchema.parse(
        await run(Prisma.sql`
          SELECT f.about ->> 0 AS host, to_timestamp(f.until / 1000) AS "endsAt", to_timestamp(f."seenAt" / 1000) AS "seenAt"
          FROM domains d, jsonb_to_recordset(d.posture -> 'findings')
            AS f (code text, since float8, until float8, "seenAt" float8, about jsonb)
          WHERE f.code = 'certificate_expiring' AND f.since <= ${now.getTime()} AND f.until > ${now.getTime()}
          ORDER BY f.until, 1`),
      ),

    listRenewedElsewhere: async (from, to) =>
      renewedNameRowsSchema.parse(
        await run(Prisma.sql`
          SELECT d.name, d.expires_at AS "expiresAt" FROM domains d
          WHERE d.expiry_changed_at > ${from}::timestamptz AND d.expiry_changed_at <= ${to}::timestamptz
            AND d.expiry_source = 'rdap' AND NOT EXISTS (
              SELECT FROM order_items i JOIN orders o ON o.id = i.order_id
              WHERE i.name = d.name AND o.task = ANY (${RENEWING_TASKS}::text[])
                AND i.sent_at > d.expiry_changed_at - interval '60 days')
          ORDER BY d.name LIMIT ${MAX_DIGEST_NAMES}`),
      ),

    listNewlyMissingRecords: async (from, to) =>
      missingRecordRowsSchema.parse(
        await run(Prisma.sql`
          SELECT substring(name from '[^.]+$') AS zone, count(*)::int AS count,
            (array_agg(name ORDER BY name))[1:${MAX_NAMES_PER_REGISTRY}::int] AS names
          FROM domains
          WHERE doubt #>> '{problem,code}' = ${DELEGATED_WITHOUT_RECORD}
            AND (history #>> '{registrar,unseen,since}')::timestamptz > ${from}::timestamptz
            AND (history #>> '{registrar,unseen,since}')::timestamptz <= ${to}::timestamptz
          GROUP BY 1 ORDER BY 1`),
      ),

    claimDue: async (now, leaseMs, limit) => {
      const rows = await run(Prisma.sql`
        WITH due AS (
          SELECT name AS due_name, urgent AS was_urgent, ${DUE_AT} AS due_at FROM domains
          WHERE ${DUE_AT} <= ${now}::timestamptz AND ${isLeaseExpired(Prisma.sql`lease_until`)}
          ORDER BY urgent DESC, ${DUE_AT} LIMIT ${limit} FOR UPDATE SKIP LOCKED
        ), claimed AS (
          UPDATE domains SET lease_until = ${buildLeaseEnd(leaseMs)} FROM due WHERE name = due_name
          RETURNING name, was_urgent, due_at
        )
        SELECT name FROM claimed ORDER BY was_urgent DESC, due_at`);
      return nameRowsSchema.parse(rows).map(({ name }) => name);
    },

    save: (previousRecord, update) =>
      transaction(async (tx) => {
        const { updatedRecord, observations, incident } = update;
        const rows = nameRowsSchema.parse(await tx(compareAndSwapRecord(previousRecord, updatedRecord)));
        if (rows.length === 0) return false;
        if (incident !== undefined && !(await saveIncident(tx, teamId, incident))) throw new ConflictError();
        if (observations.length > 0) await tx(insertObservations(previousRecord.name, observations));
        await queueWebhooks(
          tx,
          observations.flatMap((observation) => buildWebhooks(previousRecord.name, observation)),
          teamId,
        );
        for (const statement of buildReminderUpdates(previousRecord.name, previousRecord, updatedRecord))
          await tx(statement);
        return true;
      }).catch((error: unknown) => {
        if (error instanceof ConflictError) return false;
        throw error;
      }),

    purgeObservations: async (before) => {
      const rows = await run(Prisma.sql`SELECT delete_old_observations(${before})::int AS n`);
      return z.tuple([z.object({ n: z.int() })]).parse(rows)[0].n;
    },

    findPossibleDependents: async (name) => {
      const [recordRows, redirectRows] = await Promise.all([
        run(Prisma.sql`
          SELECT ${nameRecordRow.columns} FROM domains
          WHERE name <> ${name} AND strpos(history::text, ${name}) > 0
          ORDER BY name LIMIT ${MAX_DEPENDENTS}`),
        run(selectRedirects(name)),
      ]);
      return [
        ...readRecords(recordRows).map(toDependentName),
        ...redirectRowsSchema
          .parse(redirectRows)
          .map(toRedirectSource)
          .filter((source) => !isHostInDomain(source.name, name)),
      ];
    },
  });
}

/** Only dangers have webhooks. */
function buildWebhooks(name: string, observation: NameObservation): WebhookEvent[] {
  if (observation.origin !== 'finding') return [];
  const { at, opened, closed } = observation;
  const buildEvents = (type: 'finding.opened' | 'finding.closed', codes: readonly FindingCode[]) =>
    DANGER_CODES.filter((code) => codes.includes(code)).map(
      (code): WebhookEvent => ({ type, at, data: { name, code } }),
    );
  return [...buildEvents('finding.closed', closed), ...buildEvents('finding.opened', opened)];
}

/** Rolls back the transaction, because the incident was changed concurrently. */
class ConflictError extends Error {}

/** Saves the result of a lookup by compare-and-swap. Returns the name, or no row after a conflict. */
function compareAndSwapRecord(previousRecord: NameRecord, updatedRecord: NameRecord): Statement {
  const fields = {
    ...toDateColumns(updatedRecord),
    ...(hasNewExpiry(previousRecord, updatedRecord) ? { ...CLEARED_LAPSE, ...CLEARED_SNOOZE } : {}),
    registrar:
      getRegistrarName(updatedRecord.history.registrar?.current?.value ?? []) ??
      updatedRecord.whois?.registrar,
    inUse: isInUse(updatedRecord.history),
    posture: updatedRecord.posture,
    findings: Prisma.sql`${updatedRecord.findings}::text[]`,
    history: updatedRecord.history,
    knownChanges: updatedRecord.knownChanges,
    nextDnsLookupAt: updatedRecord.nextDnsLookupAt,
    nextRegistryLookupAt: updatedRecord.nextRegistryLookupAt,
    registryReserved: updatedRecord.isRegistryReserved,
    urgent: updatedRecord.isUrgent,
  };
  return Prisma.sql`
    UPDATE domains SET ${assignColumns(fields)}, version = version + 1, lease_until = NULL
    WHERE name = ${previousRecord.name} AND version = ${previousRecord.version} RETURNING name`;
}

const redirectRowsSchema = z.array(
  z.object({ source: z.string(), target: z.string(), backup: z.string().nullable(), isPrivate: z.boolean() }),
);

/**
 * Selects redirects that may lead to the name, each from its latest live order. Includes every redirect with
 * escapes or non-ASCII characters in a target, so the caller must parse and compare the hosts.
 */
function selectRedirects(name: string): Prisma.Sql {
  return Prisma.sql`
    SELECT source, target, backup, "isPrivate" FROM (
      SELECT DISTINCT ON (i.name) i.name AS source, o.input ->> 'target' AS target, o.input ->> 'backup' AS backup,
        o.is_private AS "isPrivate"
      FROM orders o JOIN order_items i ON i.order_id = o.id
      WHERE o.task = 'redirect' AND o.state = 'SUCCEEDED' AND o.context IS DISTINCT FROM ${DEMO_CONTEXT}
      ORDER BY i.name, o.created_at DESC
    ) latest, lower(concat_ws(' ', target, backup)) AS targets
    WHERE strpos(targets, ${name}) > 0 OR targets ~ '[^ -~]|%'
    ORDER BY source LIMIT ${MAX_DEPENDENTS}`;
}

function toRedirectSource({
  source,
  target,
  backup,
  isPrivate,
}: z.infer<typeof redirectRowsSchema>[number]): DependentName {
  const redirectTargets = backup === null ? [target] : [target, backup];
  return { name: parseTargetHost(source), nameServers: [], mailServers: [], redirectTargets, isPrivate };
}

/** Includes unconfirmed values, because they may be the ones in use. */
function toDependentName({ name, history }: NameRecord): DependentName {
  const { nameservers, registry_nameservers, parent_nameservers, mx, cname, www_cname } = history;
  const listValues = (fact: typeof mx) => [
    ...(fact?.current?.value ?? []),
    ...(fact?.candidate?.value ?? []),
  ];
  return {
    name,
    nameServers: [nameservers, registry_nameservers, parent_nameservers].flatMap(listValues),
    mailServers: listValues(mx).map((text) => text.slice(text.indexOf(' ') + 1)),
    redirectTargets: [cname, www_cname].flatMap(listValues),
    isPrivate: false,
  };
}

const impactRow = defineRow(
  z.object({
    atRequest: storedImpactSchema,
    latest: storedImpactSchema,
    lastWarning: optional(storedImpactSchema),
    warningNotifiedAt: optional(z.date()),
    warnedFindings: z.array(z.string()),
    isThorough: z.boolean(),
  }),
  '',
  { isThorough: Prisma.sql`thorough` },
);

export function createImpactStore({ run, prisma }: Database, teamId: string): ImpactStore {
  /** @param isShown whether the order's messages show the impact, so that they must be updated */
  const upsertImpact = (
    orderId: string,
    impact: Impact,
    {
      newFindings,
      isShown,
    }: { readonly newFindings: readonly string[] | undefined; readonly isShown: boolean },
  ) => {
    const json = toStorableJson(impact);
    return Prisma.sql`
      WITH kept AS (
        INSERT INTO order_impacts (order_id, team_id, at_request, latest, last_warning, warned_findings, thorough)
        SELECT id, ${teamId}, ${json}::jsonb, ${json}::jsonb, ${newFindings === undefined ? null : json}::jsonb,
          ${newFindings ?? []}::text[], ${isShown} FROM orders WHERE id = ${orderId}
        ON CONFLICT (order_id) DO UPDATE SET latest = excluded.latest, thorough = excluded.thorough,
          last_warning = COALESCE(excluded.last_warning, order_impacts.last_warning),
          warned_findings = order_impacts.warned_findings || excluded.warned_findings,
          warning_notified_at = CASE WHEN excluded.last_warning IS NULL THEN order_impacts.warning_notified_at END
        RETURNING order_id
      )
      UPDATE notifications n SET version = n.version + 1, due_at = LEAST(n.due_at, ${impact.seenAt}::timestamptz)
      FROM kept JOIN orders o ON o.id = kept.order_id
      WHERE n.team_id = o.team_id AND n.subject_kind = 'order' AND n.subject_id = o.id AND n.purpose = 'plan'
        AND ${isShown}`;
  };
  return wrapStore('impacts', {
    findImpact: async (orderId) => {
      const rows = await run(
        Prisma.sql`SELECT ${impactRow.columns} FROM order_impacts WHERE order_id = ${orderId}`,
      );
      return impactRow.read(rows)[0];
    },

    saveNameServers: async (orderId, nameServers) => {
      await prisma.orderImpact.updateMany({
        where: { orderId, nameServers: { equals: Prisma.DbNull } },
        data: { nameServers: [...nameServers] },
      });
    },

    findNameServers: async (orderId) => {
      const row = await prisma.orderImpact.findUnique({
        where: { orderId },
        select: { nameServers: true },
      });
      return optional(z.array(z.string())).parse(row?.nameServers ?? null);
    },

    recordWarningNotified: async (orderId, at) => {
      await prisma.orderImpact.updateMany({
        where: { orderId, warningNotifiedAt: null },
        data: { warningNotifiedAt: at },
      });
    },

    saveImpact: async (orderId, impact, source) => {
      await run(upsertImpact(orderId, impact, { newFindings: undefined, isShown: source === 'card' }));
    },

    saveWarning: async (orderId, impact) => {
      await run(upsertImpact(orderId, impact, { newFindings: listFindingKeys(impact), isShown: true }));
    },
  });
}
