-- CreateTable
CREATE TABLE "name_decisions" (
    "id" BIGSERIAL NOT NULL,
    "team_id" TEXT NOT NULL DEFAULT installation_team(),
    "name" TEXT NOT NULL,
    "kind" TEXT NOT NULL,
    "by" TEXT NOT NULL,
    "at" TIMESTAMPTZ(3) NOT NULL,
    "until" TIMESTAMPTZ(3),
    "reason" TEXT,
    "alarm" TEXT,

    CONSTRAINT "name_decisions_pkey" PRIMARY KEY ("id")
);

-- CreateIndex
CREATE INDEX "name_decisions_team_id_at_idx" ON "name_decisions"("team_id", "at");
