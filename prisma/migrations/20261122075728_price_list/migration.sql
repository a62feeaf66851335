-- CreateTable
CREATE TABLE "prices" (
    "id" TEXT NOT NULL,
    "team_id" TEXT NOT NULL,
    "zone" TEXT NOT NULL,
    "task" TEXT NOT NULL,
    "period" INTEGER NOT NULL,
    "amount_minor" BIGINT NOT NULL,
    "currency" TEXT NOT NULL,
    "valid_from" DATE NOT NULL,
    "source" TEXT NOT NULL,
    "updated_by" TEXT NOT NULL,
    "updated_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "prices_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "price_changes" (
    "id" BIGSERIAL NOT NULL,
    "team_id" TEXT NOT NULL,
    "before" JSONB,
    "after" JSONB NOT NULL,
    "by" TEXT NOT NULL,
    "at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "price_changes_pkey" PRIMARY KEY ("id")
);

-- CreateIndex
CREATE UNIQUE INDEX "prices_team_id_zone_task_period_valid_from_key" ON "prices"("team_id", "zone", "task", "period", "valid_from");

-- CreateIndex
CREATE INDEX "price_changes_team_id_at_idx" ON "price_changes"("team_id", "at");
