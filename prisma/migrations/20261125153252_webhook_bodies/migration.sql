-- AlterTable
ALTER TABLE "notifications" ADD COLUMN     "body" TEXT;
