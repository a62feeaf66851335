-- CreateTable
CREATE TABLE "name_observations" (
    "team_id" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "version" INTEGER NOT NULL DEFAULT 0,
    "history" JSONB NOT NULL DEFAULT '{}',
    "ledger" JSONB NOT NULL DEFAULT '[]',
    "next_dns_at" TIMESTAMPTZ(3) NOT NULL,
    "next_registry_at" TIMESTAMPTZ(3) NOT NULL,
    "registry_reserved" BOOLEAN NOT NULL DEFAULT false,
    "due_at" TIMESTAMPTZ(3) NOT NULL,
    "urgent" BOOLEAN NOT NULL DEFAULT true,
    "lease_until" TIMESTAMPTZ(3),

    CONSTRAINT "name_observations_pkey" PRIMARY KEY ("team_id","name")
);

-- CreateTable
CREATE TABLE "order_impacts" (
    "order_id" TEXT NOT NULL,
    "team_id" TEXT NOT NULL,
    "asked" JSONB NOT NULL,
    "latest" JSONB NOT NULL,
    "thorough" BOOLEAN NOT NULL,
    "seen_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "order_impacts_pkey" PRIMARY KEY ("order_id")
);

-- CreateIndex
CREATE INDEX "name_observations_team_id_urgent_due_at_idx" ON "name_observations"("team_id", "urgent", "due_at");

-- AddForeignKey
ALTER TABLE "order_impacts" ADD CONSTRAINT "order_impacts_order_id_fkey" FOREIGN KEY ("order_id") REFERENCES "orders"("id") ON DELETE CASCADE ON UPDATE CASCADE;
