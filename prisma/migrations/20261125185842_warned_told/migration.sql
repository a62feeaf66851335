-- AlterTable
ALTER TABLE "order_impacts" ADD COLUMN     "warned_told_at" TIMESTAMPTZ(3);
