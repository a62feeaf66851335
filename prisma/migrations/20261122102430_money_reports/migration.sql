-- CreateTable
CREATE TABLE "money_reports" (
    "team_id" TEXT NOT NULL,
    "month" TEXT NOT NULL,
    "claimed_at" TIMESTAMPTZ(3) NOT NULL,
    "posted_at" TIMESTAMPTZ(3),

    CONSTRAINT "money_reports_pkey" PRIMARY KEY ("team_id","month")
);
