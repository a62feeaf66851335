-- AlterTable
ALTER TABLE "heartbeats" ADD COLUMN     "at_work" JSONB NOT NULL DEFAULT '{}',
ADD COLUMN     "beat" INTEGER NOT NULL DEFAULT 0,
ADD COLUMN     "server" TEXT,
ADD COLUMN     "xact_id" TEXT;
