-- DropIndex
DROP INDEX "revealable_secrets_expires_at_idx";

-- Recovery wipes what has run out every few seconds: of all secrets that ever were, the few that are still kept.
-- Prisma's schema cannot say a partial index, so it stands here alone.
CREATE INDEX "revealable_secrets_kept" ON "revealable_secrets" ("expires_at") WHERE "sealed" IS NOT NULL;
