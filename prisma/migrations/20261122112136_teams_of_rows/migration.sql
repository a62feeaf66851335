-- Put in its place by hand: the columns take their default from it.
-- CreateTable
CREATE TABLE "installation" (
    "id" INTEGER NOT NULL DEFAULT 1,
    "team_id" TEXT NOT NULL,

    CONSTRAINT "installation_pkey" PRIMARY KEY ("id")
);

-- Written by hand. Stable, so that the columns come without writing the tables anew.
CREATE FUNCTION installation_team() RETURNS text LANGUAGE sql STABLE AS
  'SELECT coalesce((SELECT team_id FROM installation WHERE id = 1), '''')';

-- AlterTable
ALTER TABLE "orders" ADD COLUMN     "team_id" TEXT NOT NULL DEFAULT installation_team();

-- AlterTable
ALTER TABLE "settings" ADD COLUMN     "team_id" TEXT NOT NULL DEFAULT installation_team();

-- AlterTable
ALTER TABLE "setting_changes" ADD COLUMN     "team_id" TEXT NOT NULL DEFAULT installation_team();

-- AlterTable
ALTER TABLE "domains" ADD COLUMN     "team_id" TEXT NOT NULL DEFAULT installation_team();

-- AlterTable
ALTER TABLE "reminders" ADD COLUMN     "team_id" TEXT NOT NULL DEFAULT installation_team();

-- AlterTable
ALTER TABLE "digests" ADD COLUMN     "team_id" TEXT NOT NULL DEFAULT installation_team();

-- AlterTable
ALTER TABLE "calendar_feeds" ADD COLUMN     "team_id" TEXT NOT NULL DEFAULT installation_team();
