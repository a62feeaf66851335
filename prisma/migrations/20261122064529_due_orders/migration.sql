-- AlterTable
ALTER TABLE "orders" ADD COLUMN     "due_at" TIMESTAMPTZ(3),
ADD COLUMN     "failed_attempts" INTEGER NOT NULL DEFAULT 0,
ADD COLUMN     "tell_due_at" TIMESTAMPTZ(3),
ADD COLUMN     "tell_failed_attempts" INTEGER NOT NULL DEFAULT 0;

-- That the registry has shown the end of an accepted task stood in the audit log alone.
UPDATE "order_items" i SET "result" = i."result" || '{"confirmedByRegistry": true}'
FROM "order_events" e
WHERE e."kind" = 'shown' AND e."order_id" = i."order_id" AND (e."detail"->>'n')::int = i."n"
  AND jsonb_typeof(i."result") = 'object';

-- What is due by its row. Of an order that has ended, the first look finds out whether anything is left to do.
UPDATE "orders" SET "due_at" = CASE "state"
    WHEN 'PENDING' THEN LEAST("remind_at", "expires_at")
    WHEN 'APPROVED' THEN COALESCE((
      SELECT min(COALESCE(i."not_before", "orders"."updated_at")) FROM "order_items" i
      WHERE i."order_id" = "orders"."id" AND i."state" = 'WAITING'), "updated_at")
    ELSE "updated_at" END
WHERE "state" IN ('PENDING', 'APPROVED', 'EXECUTING', 'UNKNOWN')
  OR ("state" IN ('SUCCEEDED', 'FAILED') AND "updated_at" > now() - interval '31 days');

-- Slack shows an older version of these.
UPDATE "orders" SET "tell_due_at" = "updated_at" WHERE "shown_version" < "version" AND "state" <> 'DRAFT';

-- A few rows of very many: what is open, and what Slack does not show. Prisma's schema cannot say a partial index.
CREATE INDEX "orders_due" ON "orders" ("due_at") WHERE "due_at" IS NOT NULL;
CREATE INDEX "orders_tell_due" ON "orders" ("tell_due_at") WHERE "tell_due_at" IS NOT NULL;
DROP INDEX "orders_unshown";

-- The job queue of former releases. Its jobs were hints beside the rows above, and nothing else was ever in them. Where
-- the queue serves another program as well, only what is ours goes.
DO $$
DECLARE
  ours CONSTANT text[] := ARRAY['order.execute', 'order.show', 'order.expire', 'order.nudge', 'expiry.follow',
    'expiry.refresh', 'expiry.digest'];
  foreign_queues bigint;
BEGIN
  IF to_regclass('pgboss.queue') IS NULL OR to_regclass('pgboss.job') IS NULL
      OR to_regclass('pgboss.schedule') IS NULL THEN
    RETURN;
  END IF;
  EXECUTE 'SELECT count(*) FROM pgboss.queue WHERE name <> ALL ($1) AND name NOT LIKE ''\_\_pgboss\_\_%'''
    INTO foreign_queues USING ours;
  IF foreign_queues = 0 THEN
    DROP SCHEMA pgboss CASCADE;
  ELSE
    EXECUTE 'DELETE FROM pgboss.schedule WHERE name = ANY ($1)' USING ours;
    EXECUTE 'DELETE FROM pgboss.job WHERE name = ANY ($1)' USING ours;
  END IF;
END
$$;
