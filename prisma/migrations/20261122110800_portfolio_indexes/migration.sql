-- Written by hand. Lists of names show those without a date after the others, and those that are not used together.
CREATE INDEX "domains_undated" ON "domains" ("name") WHERE "expires_at" IS NULL;
CREATE INDEX "name_observations_unused" ON "name_observations" ("team_id", "name") WHERE "in_use" = false;
