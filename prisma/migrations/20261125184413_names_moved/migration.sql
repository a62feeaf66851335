-- AlterTable
ALTER TABLE "domains" ADD COLUMN     "moved_at" TIMESTAMPTZ(3),
ADD COLUMN     "moved_from" TIMESTAMPTZ(3);
