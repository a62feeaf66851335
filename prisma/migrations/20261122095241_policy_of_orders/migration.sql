-- AlterTable
ALTER TABLE "orders" ADD COLUMN     "demand" JSONB,
ADD COLUMN     "policy_version" INTEGER;

-- CreateTable
CREATE TABLE "stand_ins" (
    "team_id" TEXT NOT NULL,
    "user_id" TEXT NOT NULL,
    "stand_in_id" TEXT NOT NULL,
    "until" TIMESTAMPTZ(3) NOT NULL,
    "since" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "stand_ins_pkey" PRIMARY KEY ("team_id","user_id")
);

-- CreateTable
CREATE TABLE "stand_in_changes" (
    "id" BIGSERIAL NOT NULL,
    "team_id" TEXT NOT NULL,
    "user_id" TEXT NOT NULL,
    "stand_in_id" TEXT,
    "until" TIMESTAMPTZ(3),
    "by" TEXT NOT NULL,
    "at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "stand_in_changes_pkey" PRIMARY KEY ("id")
);

-- CreateIndex
CREATE INDEX "stand_in_changes_team_id_at_idx" ON "stand_in_changes"("team_id", "at");
