-- AlterTable
ALTER TABLE "orders" ADD COLUMN     "escalate_at" TIMESTAMPTZ(3),
ADD COLUMN     "is_private" BOOLEAN NOT NULL DEFAULT false;
