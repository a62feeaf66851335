-- AlterTable
ALTER TABLE "accounts" ADD COLUMN     "linked_by" TEXT,
ADD COLUMN     "team_key" TEXT,
ALTER COLUMN "user_id" DROP NOT NULL;

-- AlterTable
ALTER TABLE "orders" ADD COLUMN     "uses_team_account" BOOLEAN NOT NULL DEFAULT false;

-- CreateTable
CREATE TABLE "team_account_changes" (
    "id" BIGSERIAL NOT NULL,
    "team_id" TEXT NOT NULL,
    "kind" TEXT NOT NULL,
    "login" TEXT NOT NULL,
    "application" TEXT NOT NULL,
    "by" TEXT NOT NULL,
    "at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "team_account_changes_pkey" PRIMARY KEY ("id")
);

-- CreateIndex
CREATE INDEX "team_account_changes_team_id_at_idx" ON "team_account_changes"("team_id", "at");

-- CreateIndex
CREATE UNIQUE INDEX "accounts_team_key_key" ON "accounts"("team_key");

-- Written by hand: an account is a person's or the team's, never both and never nobody's.
ALTER TABLE "accounts" ADD CONSTRAINT "accounts_owner_check" CHECK (("user_id" IS NULL) = ("team_key" IS NOT NULL));
