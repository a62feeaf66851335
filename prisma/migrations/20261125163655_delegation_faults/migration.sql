-- AlterTable
ALTER TABLE "domains" ADD COLUMN     "delegation_faults" TEXT[] DEFAULT ARRAY[]::TEXT[],
ADD COLUMN     "faulty_since" TIMESTAMPTZ(3);

-- CreateIndex
CREATE INDEX "domains_faulty_since_idx" ON "domains"("faulty_since");
