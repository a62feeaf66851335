-- DropIndex
DROP INDEX "mandate_acts_mandate_id_idx";

-- CreateIndex
CREATE INDEX "mandate_acts_mandate_id_at_idx" ON "mandate_acts"("mandate_id", "at");

-- By hand: the schema language has no partial indexes.
CREATE INDEX "mandate_acts_to_be_asked" ON "mandate_acts" ("team_id", "at") WHERE "is_to_be_asked";
