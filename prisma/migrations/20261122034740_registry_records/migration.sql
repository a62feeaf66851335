-- AlterTable
ALTER TABLE "domains" DROP COLUMN "moved_at",
DROP COLUMN "previous_expires_at",
ADD COLUMN     "record" JSONB,
ADD COLUMN     "record_before" JSONB;
