-- AlterTable
ALTER TABLE "accounts" ADD COLUMN     "profile" JSONB;
