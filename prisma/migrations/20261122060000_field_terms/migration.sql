-- Columns and stored event kinds take the words that the code uses.
ALTER TABLE "orders" RENAME COLUMN "nudge_at" TO "remind_at";
ALTER TABLE "orders" RENAME COLUMN "notify_lease" TO "notification_lease_until";
ALTER TABLE "domains" RENAME COLUMN "said_threshold" TO "reminded_threshold";
ALTER INDEX "domains_expires_at_name_said_threshold_idx" RENAME TO "domains_expires_at_name_reminded_threshold_idx";
ALTER TABLE "digests" RENAME COLUMN "complained_at" TO "admins_alerted_at";

UPDATE "order_events" SET "kind" = CASE "kind"
  WHEN 'held_back' THEN 'retry_scheduled'
  WHEN 'ran_out' THEN 'expired'
  WHEN 'nudged' THEN 'reminded'
  WHEN 'doubted' THEN 'invalidated'
  ELSE 'resolved' END
WHERE "kind" IN ('held_back', 'ran_out', 'nudged', 'doubted', 'settled');

-- An order that ended with the event names it in the detail of its end.
UPDATE "order_events" SET "detail" = jsonb_set("detail", '{through}', '"resolved"')
WHERE "detail" ->> 'through' = 'settled';

UPDATE "message_refs" SET "purpose" =
  substring("purpose" FROM '^reply:[0-9]+:') || CASE substring("purpose" FROM '[^:]+$')
    WHEN 'held_back' THEN 'retry_scheduled'
    WHEN 'ran_out' THEN 'expired'
    WHEN 'nudged' THEN 'reminded'
    WHEN 'doubted' THEN 'invalidated'
    ELSE 'resolved' END
WHERE "purpose" ~ '^reply:[0-9]+:(held_back|ran_out|nudged|doubted|settled)$';

UPDATE "order_items" SET "result" = ("result" - 'settledBy') || jsonb_build_object('resolvedBy', "result" -> 'settledBy')
WHERE "result" ? 'settledBy';
