-- AlterTable
ALTER TABLE "orders" ADD COLUMN     "emergency_approved_by" TEXT,
ADD COLUMN     "signed_off_by" TEXT;

-- The reviews that are open: few at any time, and looked for at every opening of an admin's Home.
CREATE INDEX "orders_open_reviews" ON "orders"("created_at")
  WHERE "emergency_approved_by" IS NOT NULL AND "signed_off_by" IS NULL;
