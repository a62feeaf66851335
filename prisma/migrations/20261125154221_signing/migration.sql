-- AlterTable
ALTER TABLE "approvals" ADD COLUMN     "signature" JSONB;

-- CreateTable
CREATE TABLE "signing_links" (
    "token_hash" TEXT NOT NULL,
    "team_id" TEXT NOT NULL DEFAULT installation_team(),
    "user_id" TEXT NOT NULL,
    "purpose" TEXT NOT NULL,
    "subject" TEXT NOT NULL,
    "salt" TEXT NOT NULL,
    "expires_at" TIMESTAMPTZ(3) NOT NULL,
    "spent_at" TIMESTAMPTZ(3),

    CONSTRAINT "signing_links_pkey" PRIMARY KEY ("token_hash")
);

-- CreateTable
CREATE TABLE "passkey_counters" (
    "fingerprint" TEXT NOT NULL,
    "counter" BIGINT NOT NULL,

    CONSTRAINT "passkey_counters_pkey" PRIMARY KEY ("fingerprint")
);

-- CreateIndex
CREATE INDEX "signing_links_expires_at_idx" ON "signing_links"("expires_at");

-- Keys, and signatures under what decides, count however old they are.
CREATE OR REPLACE FUNCTION delete_old_events(before timestamptz) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM events e WHERE CASE
    WHEN e.subject_kind = 'order' THEN NOT EXISTS (SELECT FROM orders o WHERE o.id = e.subject_id)
    ELSE e.at < before AND e.subject_kind <> 'key' AND e.kind <> 'charter_signed' END;
END $$;
