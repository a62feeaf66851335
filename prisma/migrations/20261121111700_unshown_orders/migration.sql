-- Recovery looks every few seconds for orders that Slack shows in an older version: nearly always none.
-- Prisma's schema cannot say a partial index, so it stands here alone.
CREATE INDEX "orders_unshown" ON "orders" ("updated_at") WHERE "shown_version" < "version";
