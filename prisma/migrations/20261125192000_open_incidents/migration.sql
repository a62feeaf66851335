-- By hand: the schema language has no partial indexes.
CREATE INDEX "incidents_open" ON "incidents" ("team_id", "opened_at") WHERE "state" IN ('open', 'raised');
