-- CreateTable
CREATE TABLE "budgets" (
    "id" TEXT NOT NULL,
    "team_id" TEXT NOT NULL,
    "tag" TEXT NOT NULL,
    "span" TEXT NOT NULL,
    "amount_minor" BIGINT NOT NULL,
    "currency" TEXT NOT NULL,
    "updated_by" TEXT NOT NULL,
    "updated_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "budgets_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "budget_changes" (
    "id" BIGSERIAL NOT NULL,
    "team_id" TEXT NOT NULL,
    "before" JSONB,
    "after" JSONB,
    "by" TEXT NOT NULL,
    "at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "budget_changes_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "budget_reservations" (
    "order_id" TEXT NOT NULL,
    "n" INTEGER NOT NULL,
    "team_id" TEXT NOT NULL,
    "day" DATE NOT NULL,
    "amount_minor" BIGINT,
    "currency" TEXT,
    "tags" TEXT[],

    CONSTRAINT "budget_reservations_pkey" PRIMARY KEY ("order_id","n")
);

-- CreateIndex
CREATE UNIQUE INDEX "budgets_team_id_tag_span_key" ON "budgets"("team_id", "tag", "span");

-- CreateIndex
CREATE INDEX "budget_changes_team_id_at_idx" ON "budget_changes"("team_id", "at");

-- CreateIndex
CREATE INDEX "budget_reservations_team_id_day_idx" ON "budget_reservations"("team_id", "day");

-- AddForeignKey
ALTER TABLE "budget_reservations" ADD CONSTRAINT "budget_reservations_order_id_fkey" FOREIGN KEY ("order_id") REFERENCES "orders"("id") ON DELETE CASCADE ON UPDATE CASCADE;
