-- CreateTable
CREATE TABLE "policy_versions" (
    "team_id" TEXT NOT NULL,
    "version" INTEGER NOT NULL,
    "rules" JSONB NOT NULL,
    "published_by" TEXT NOT NULL,
    "published_at" TIMESTAMPTZ(3) NOT NULL,
    "confirmed_by" TEXT NOT NULL,
    "confirmed_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "policy_versions_pkey" PRIMARY KEY ("team_id","version")
);

-- CreateTable
CREATE TABLE "policy_drafts" (
    "team_id" TEXT NOT NULL,
    "revision" TEXT NOT NULL,
    "rules" JSONB NOT NULL,
    "changed_by" TEXT NOT NULL,
    "changed_at" TIMESTAMPTZ(3) NOT NULL,
    "published_by" TEXT,
    "published_at" TIMESTAMPTZ(3),

    CONSTRAINT "policy_drafts_pkey" PRIMARY KEY ("team_id")
);

-- CreateTable
CREATE TABLE "policy_changes" (
    "id" BIGSERIAL NOT NULL,
    "team_id" TEXT NOT NULL,
    "kind" TEXT NOT NULL,
    "version" INTEGER,
    "changes" JSONB NOT NULL,
    "by" TEXT NOT NULL,
    "at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "policy_changes_pkey" PRIMARY KEY ("id")
);

-- CreateIndex
CREATE INDEX "policy_changes_team_id_at_idx" ON "policy_changes"("team_id", "at");
