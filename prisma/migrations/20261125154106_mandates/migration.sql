-- AlterTable
ALTER TABLE "orders" ADD COLUMN     "mandate_end" JSONB,
ADD COLUMN     "mandate_id" TEXT,
ADD COLUMN     "send_after" TIMESTAMPTZ(3);

-- CreateTable
CREATE TABLE "mandate_acts" (
    "id" TEXT NOT NULL,
    "team_id" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "expires_at" TIMESTAMPTZ(3) NOT NULL,
    "mandate_id" TEXT NOT NULL,
    "at" TIMESTAMPTZ(3) NOT NULL,
    "day" DATE NOT NULL,
    "amount_minor" BIGINT,
    "currency" TEXT,
    "held" TEXT,
    "order_id" TEXT,
    "is_to_be_asked" BOOLEAN NOT NULL DEFAULT false,
    "announced_at" TIMESTAMPTZ(3),

    CONSTRAINT "mandate_acts_pkey" PRIMARY KEY ("id")
);

-- CreateIndex
CREATE UNIQUE INDEX "mandate_acts_order_id_key" ON "mandate_acts"("order_id");

-- CreateIndex
CREATE UNIQUE INDEX "mandate_acts_team_id_name_expires_at_key" ON "mandate_acts"("team_id", "name", "expires_at");

-- CreateIndex
CREATE INDEX "mandate_acts_mandate_id_idx" ON "mandate_acts"("mandate_id");

-- CreateIndex
CREATE INDEX "mandate_acts_day_idx" ON "mandate_acts"("day");

-- CreateIndex
CREATE INDEX "orders_mandate_id_idx" ON "orders"("mandate_id");
