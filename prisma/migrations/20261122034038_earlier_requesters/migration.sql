-- AlterTable
ALTER TABLE "orders" ADD COLUMN     "earlier_requesters" TEXT[] DEFAULT ARRAY[]::TEXT[];

-- Retries used to be for the first requester, whoever pressed. Who did must not approve what still waits.
UPDATE "orders" o SET "earlier_requesters" = ARRAY[o."requester_id", e."actor"]
FROM "order_events" e
WHERE e."order_id" = o."id" AND e."kind" = 'requested' AND e."actor" <> o."requester_id"
  AND o."retry_of" IS NOT NULL AND o."state" IN ('DRAFT', 'PENDING');
