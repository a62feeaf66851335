-- AlterTable
ALTER TABLE "domains" ADD COLUMN     "trusted_record" JSONB;

-- AlterTable
ALTER TABLE "order_impacts" ADD COLUMN     "name_servers" JSONB;

-- CreateTable
CREATE TABLE "alarms" (
    "id" TEXT NOT NULL,
    "team_id" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "version" INTEGER NOT NULL DEFAULT 0,
    "kind" TEXT NOT NULL,
    "fact" TEXT NOT NULL,
    "before" JSONB NOT NULL,
    "after" JSONB NOT NULL,
    "expiry" JSONB,
    "last_seen_before" TIMESTAMPTZ(3) NOT NULL,
    "first_seen_after" TIMESTAMPTZ(3) NOT NULL,
    "raised_at" TIMESTAMPTZ(3) NOT NULL,
    "orders" JSONB NOT NULL,
    "state" TEXT NOT NULL,
    "proposed_by" TEXT,
    "proposed_reason" TEXT,
    "explained_by" TEXT,
    "reason" TEXT,
    "escalated_by" TEXT,
    "channel_id" TEXT,
    "ts" TEXT,
    "told" TEXT[] DEFAULT ARRAY[]::TEXT[],
    "tell_due_at" TIMESTAMPTZ(3),
    "notification_lease_until" TIMESTAMPTZ(3),
    "tell_failed_attempts" INTEGER NOT NULL DEFAULT 0,

    CONSTRAINT "alarms_pkey" PRIMARY KEY ("id")
);

-- CreateIndex
CREATE INDEX "alarms_team_id_tell_due_at_idx" ON "alarms"("team_id", "tell_due_at");

-- CreateIndex
CREATE INDEX "alarms_team_id_name_raised_at_idx" ON "alarms"("team_id", "name", "raised_at");
