-- AlterTable
ALTER TABLE "domains" ADD COLUMN     "channel_id" TEXT,
ADD COLUMN     "note" TEXT,
ADD COLUMN     "owner_id" TEXT,
ADD COLUMN     "tags" TEXT[] DEFAULT ARRAY[]::TEXT[];

-- AlterTable
ALTER TABLE "reminders" ADD COLUMN     "destination" TEXT NOT NULL DEFAULT '';

-- AlterTable
ALTER TABLE "name_observations" ADD COLUMN     "in_use" BOOLEAN;

-- CreateTable
CREATE TABLE "digest_heads" (
    "digest_id" TEXT NOT NULL,
    "destination" TEXT NOT NULL,
    "channel_id" TEXT NOT NULL,
    "ts" TEXT NOT NULL,

    CONSTRAINT "digest_heads_pkey" PRIMARY KEY ("digest_id","destination")
);

-- CreateTable
CREATE TABLE "portfolio_changes" (
    "id" BIGSERIAL NOT NULL,
    "team_id" TEXT NOT NULL,
    "kind" TEXT NOT NULL,
    "subject" TEXT NOT NULL,
    "before" JSONB,
    "after" JSONB,
    "by" TEXT NOT NULL,
    "at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "portfolio_changes_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "names_imports" (
    "team_id" TEXT NOT NULL,
    "hash" TEXT NOT NULL,
    "rows" JSONB NOT NULL,
    "by" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "names_imports_pkey" PRIMARY KEY ("team_id","hash")
);

-- CreateTable
CREATE TABLE "presets" (
    "id" TEXT NOT NULL,
    "team_id" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "kind" TEXT NOT NULL,
    "fields" JSONB NOT NULL,
    "updated_by" TEXT NOT NULL,
    "updated_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "presets_pkey" PRIMARY KEY ("id")
);

-- CreateIndex
CREATE INDEX "portfolio_changes_team_id_at_idx" ON "portfolio_changes"("team_id", "at");

-- CreateIndex
CREATE UNIQUE INDEX "presets_team_id_name_key" ON "presets"("team_id", "name");

-- CreateIndex
CREATE INDEX "domains_tags_idx" ON "domains" USING GIN ("tags");

-- CreateIndex
CREATE INDEX "domains_owner_id_idx" ON "domains"("owner_id");
