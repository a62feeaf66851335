-- DropTable
DROP TABLE "alarms";

-- CreateTable
CREATE TABLE "incidents" (
    "id" TEXT NOT NULL,
    "team_id" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "version" INTEGER NOT NULL DEFAULT 0,
    "state" TEXT NOT NULL,
    "opened_at" TIMESTAMPTZ(3) NOT NULL,
    "changes" JSONB NOT NULL,
    "proposed_by" TEXT,
    "proposed_reason" TEXT,
    "explained_by" TEXT,
    "reason" TEXT,
    "raised_by" TEXT,
    "over_at" TIMESTAMPTZ(3),

    CONSTRAINT "incidents_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "incident_warnings" (
    "order_id" TEXT NOT NULL,
    "incident_id" TEXT NOT NULL,
    "user_id" TEXT NOT NULL,
    "changes" INTEGER NOT NULL,
    "at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "incident_warnings_pkey" PRIMARY KEY ("order_id","incident_id","user_id")
);

-- CreateIndex
CREATE INDEX "incidents_team_id_name_opened_at_idx" ON "incidents"("team_id", "name", "opened_at");

-- AddForeignKey
ALTER TABLE "incident_warnings" ADD CONSTRAINT "incident_warnings_order_id_fkey" FOREIGN KEY ("order_id") REFERENCES "orders"("id") ON DELETE CASCADE ON UPDATE CASCADE;
