-- Written by hand. It comes first, because columns of other tables use it as their default.
CREATE TABLE "installation" (
    "id" INTEGER NOT NULL DEFAULT 1,
    "team_id" TEXT NOT NULL,

    CONSTRAINT "installation_pkey" PRIMARY KEY ("id")
);

CREATE FUNCTION installation_team() RETURNS text LANGUAGE sql STABLE AS
  'SELECT coalesce((SELECT team_id FROM installation WHERE id = 1), '''')';

-- CreateTable
CREATE TABLE "accounts" (
    "id" TEXT NOT NULL,
    "team_id" TEXT NOT NULL,
    "user_id" TEXT,
    "team_key" TEXT,
    "linked_by" TEXT,
    "method" TEXT NOT NULL,
    "slot" TEXT NOT NULL,
    "context" INTEGER,
    "login" TEXT NOT NULL,
    "application" TEXT,
    "sealed" BYTEA NOT NULL,
    "key_id" TEXT NOT NULL,
    "active_key" TEXT,
    "verified_at" TIMESTAMPTZ(3),
    "profile" JSONB,
    "created_at" TIMESTAMPTZ(3) NOT NULL,
    "updated_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "accounts_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "token_steps" (
    "login" TEXT NOT NULL,
    "step" INTEGER NOT NULL,

    CONSTRAINT "token_steps_pkey" PRIMARY KEY ("login")
);

-- CreateTable
CREATE TABLE "orders" (
    "id" TEXT NOT NULL,
    "task" TEXT NOT NULL,
    "state" TEXT NOT NULL,
    "version" INTEGER NOT NULL,
    "requester_id" TEXT NOT NULL,
    "account_id" TEXT NOT NULL,
    "account_login" TEXT NOT NULL,
    "account_method" TEXT NOT NULL,
    "uses_team_account" BOOLEAN NOT NULL DEFAULT false,
    "context" INTEGER,
    "names" TEXT[],
    "input" JSONB NOT NULL,
    "statement_hash" TEXT NOT NULL,
    "secret_hash" TEXT,
    "sealed_input" BYTEA,
    "sealed_input_key_id" TEXT,
    "draft_events" JSONB,
    "reason" TEXT,
    "ownership" JSONB,
    "channel_id" TEXT NOT NULL,
    "thread_ts" TEXT,
    "approvals_required" INTEGER NOT NULL,
    "policy_version" INTEGER NOT NULL,
    "requirements" JSONB,
    "retry_of" TEXT,
    "bulk" JSONB,
    "earlier_requesters" TEXT[] DEFAULT ARRAY[]::TEXT[],
    "mandate_id" TEXT,
    "send_after" TIMESTAMPTZ(3),
    "approval_round" INTEGER NOT NULL DEFAULT 0,
    "mandate_end" JSONB,
    "delivery_id" TEXT NOT NULL,
    "expires_at" TIMESTAMPTZ(3),
    "remind_at" TIMESTAMPTZ(3),
    "escalate_at" TIMESTAMPTZ(3),
    "is_private" BOOLEAN NOT NULL DEFAULT false,
    "shown_excess" JSONB NOT NULL DEFAULT '[]',
    "emergency_approved_by" TEXT,
    "signed_off_by" TEXT,
    "due_at" TIMESTAMPTZ(3),
    "worker_id" TEXT,
    "lease_until" TIMESTAMPTZ(3),
    "failed_attempts" INTEGER NOT NULL DEFAULT 0,
    "created_at" TIMESTAMPTZ(3) NOT NULL,
    "updated_at" TIMESTAMPTZ(3) NOT NULL,
    "closed_at" TIMESTAMPTZ(3),
    "team_id" TEXT NOT NULL DEFAULT installation_team(),

    CONSTRAINT "orders_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "mandate_acts" (
    "id" TEXT NOT NULL,
    "team_id" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "expires_at" TIMESTAMPTZ(3) NOT NULL,
    "mandate_id" TEXT NOT NULL,
    "at" TIMESTAMPTZ(3) NOT NULL,
    "day" DATE NOT NULL,
    "amount_minor" BIGINT,
    "currency" TEXT,
    "held" TEXT,
    "order_id" TEXT,
    "ask_at" TIMESTAMPTZ(3),
    "ask_failures" INTEGER NOT NULL DEFAULT 0,
    "announced_at" TIMESTAMPTZ(3),

    CONSTRAINT "mandate_acts_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "order_items" (
    "order_id" TEXT NOT NULL,
    "n" INTEGER NOT NULL,
    "name" TEXT NOT NULL,
    "client_tid" TEXT NOT NULL,
    "state" TEXT NOT NULL,
    "open_key" TEXT,
    "attempts" INTEGER NOT NULL DEFAULT 0,
    "not_before" TIMESTAMPTZ(3),
    "sent_at" TIMESTAMPTZ(3),
    "answered_at" TIMESTAMPTZ(3),
    "result" JSONB,
    "input" JSONB,
    "secret_hash" TEXT,
    "sealed_input" BYTEA,
    "sealed_input_key_id" TEXT,
    "followed_at" TIMESTAMPTZ(3),

    CONSTRAINT "order_items_pkey" PRIMARY KEY ("order_id","n")
);

-- CreateTable
CREATE TABLE "events" (
    "seq" BIGSERIAL NOT NULL,
    "at" TIMESTAMPTZ(3) NOT NULL,
    "team_id" TEXT NOT NULL DEFAULT installation_team(),
    "subject_kind" TEXT NOT NULL,
    "subject_id" TEXT NOT NULL,
    "kind" TEXT NOT NULL,
    "actor" TEXT NOT NULL,
    "data" JSONB NOT NULL,
    "forgotten_at" TIMESTAMPTZ(3),
    "forgotten_by" TEXT,
    "forgotten_leaf" BYTEA,

    CONSTRAINT "events_pkey" PRIMARY KEY ("seq")
);

-- CreateTable
CREATE TABLE "unsealed_events" (
    "event_seq" BIGINT NOT NULL,
    "team_id" TEXT NOT NULL,
    "since" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "unsealed_events_pkey" PRIMARY KEY ("event_seq")
);

-- CreateTable
CREATE TABLE "ledger_entries" (
    "team_id" TEXT NOT NULL,
    "seq" BIGINT NOT NULL,
    "event_seq" BIGINT NOT NULL,
    "leaf" BYTEA NOT NULL,

    CONSTRAINT "ledger_entries_pkey" PRIMARY KEY ("team_id","seq")
);

-- CreateTable
CREATE TABLE "seals" (
    "team_id" TEXT NOT NULL,
    "n" INTEGER NOT NULL,
    "from" BIGINT NOT NULL,
    "to" BIGINT NOT NULL,
    "root" TEXT NOT NULL,
    "prev" TEXT NOT NULL,
    "at" TIMESTAMPTZ(3) NOT NULL,
    "signature" TEXT NOT NULL,

    CONSTRAINT "seals_pkey" PRIMARY KEY ("team_id","n")
);

-- CreateTable
CREATE TABLE "anchors" (
    "team_id" TEXT NOT NULL,
    "n" INTEGER NOT NULL,
    "hash" TEXT NOT NULL,
    "at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "anchors_pkey" PRIMARY KEY ("team_id","n")
);

-- CreateTable
CREATE TABLE "ledger_keys" (
    "team_id" TEXT NOT NULL,
    "sealed" BYTEA NOT NULL,
    "key_id" TEXT NOT NULL,

    CONSTRAINT "ledger_keys_pkey" PRIMARY KEY ("team_id")
);

-- CreateTable
CREATE TABLE "approvals" (
    "order_id" TEXT NOT NULL,
    "user_id" TEXT NOT NULL,
    "at" TIMESTAMPTZ(3) NOT NULL,
    "agreed_excess" JSONB NOT NULL DEFAULT '[]',
    "signature" JSONB,

    CONSTRAINT "approvals_pkey" PRIMARY KEY ("order_id","user_id")
);

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

-- CreateTable
CREATE TABLE "notifications" (
    "team_id" TEXT NOT NULL,
    "subject_kind" TEXT NOT NULL,
    "subject_id" TEXT NOT NULL,
    "purpose" TEXT NOT NULL,
    "version" INTEGER NOT NULL DEFAULT 0,
    "shows" TEXT,
    "content_hash" TEXT,
    "is_background" BOOLEAN NOT NULL DEFAULT false,
    "due_at" TIMESTAMPTZ(3),
    "lease_until" TIMESTAMPTZ(3),
    "attempts" INTEGER NOT NULL DEFAULT 0,
    "channel_id" TEXT,
    "ts" TEXT,
    "posted_at" TIMESTAMPTZ(3),
    "refused" TEXT,

    CONSTRAINT "notifications_pkey" PRIMARY KEY ("team_id","subject_kind","subject_id","purpose")
);

-- CreateTable
CREATE TABLE "webhook_endpoints" (
    "team_id" TEXT NOT NULL,
    "id" TEXT NOT NULL,
    "served_at" TIMESTAMPTZ(3) NOT NULL,
    "taken_at" TIMESTAMPTZ(3),
    "tested_month" TEXT NOT NULL,

    CONSTRAINT "webhook_endpoints_pkey" PRIMARY KEY ("team_id","id")
);

-- CreateTable
CREATE TABLE "webhook_deliveries" (
    "seq" BIGSERIAL NOT NULL,
    "team_id" TEXT NOT NULL,
    "endpoint_id" TEXT NOT NULL,
    "subject" TEXT NOT NULL,
    "webhook_id" TEXT NOT NULL,
    "at" TIMESTAMPTZ(3) NOT NULL,
    "body" TEXT NOT NULL,
    "due_at" TIMESTAMPTZ(3) NOT NULL,
    "lease_until" TIMESTAMPTZ(3),
    "attempts" INTEGER NOT NULL DEFAULT 0,

    CONSTRAINT "webhook_deliveries_pkey" PRIMARY KEY ("seq")
);

-- CreateTable
CREATE TABLE "slack_outages" (
    "team_id" TEXT NOT NULL,
    "since" TIMESTAMPTZ(3) NOT NULL,
    "queued_at" TIMESTAMPTZ(3),

    CONSTRAINT "slack_outages_pkey" PRIMARY KEY ("team_id")
);

-- CreateTable
CREATE TABLE "revealable_secrets" (
    "order_id" TEXT NOT NULL,
    "n" INTEGER NOT NULL,
    "sealed" BYTEA,
    "key_id" TEXT,
    "expires_at" TIMESTAMPTZ(3) NOT NULL,
    "revealed_at" TIMESTAMPTZ(3),

    CONSTRAINT "revealable_secrets_pkey" PRIMARY KEY ("order_id","n")
);

-- CreateTable
CREATE TABLE "order_answers" (
    "order_id" TEXT NOT NULL,
    "n" INTEGER NOT NULL,
    "version" INTEGER NOT NULL,
    "at" TIMESTAMPTZ(3) NOT NULL,
    "answer" JSON NOT NULL,

    CONSTRAINT "order_answers_pkey" PRIMARY KEY ("order_id","n","version")
);

-- CreateTable
CREATE TABLE "heartbeats" (
    "id" INTEGER NOT NULL,
    "seen_at" TIMESTAMPTZ(3) NOT NULL,
    "database" TEXT NOT NULL,
    "server" TEXT NOT NULL,
    "beat" INTEGER NOT NULL DEFAULT 0,
    "xact_id" TEXT,
    "at_work" JSONB NOT NULL DEFAULT '{}',

    CONSTRAINT "heartbeats_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "leases" (
    "work" TEXT NOT NULL,
    "holder" TEXT NOT NULL,
    "until" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "leases_pkey" PRIMARY KEY ("work")
);

-- CreateTable
CREATE TABLE "settings" (
    "key" TEXT NOT NULL,
    "value" JSONB NOT NULL,
    "updated_by" TEXT NOT NULL,
    "updated_at" TIMESTAMPTZ(3) NOT NULL,
    "team_id" TEXT NOT NULL DEFAULT installation_team(),

    CONSTRAINT "settings_pkey" PRIMARY KEY ("key")
);

-- CreateTable
CREATE TABLE "domains" (
    "name" TEXT NOT NULL,
    "version" INTEGER NOT NULL DEFAULT 0,
    "expires_at" TIMESTAMPTZ(3),
    "expiry_source" TEXT,
    "expiry_given_by" TEXT,
    "added_by" TEXT NOT NULL,
    "added_at" TIMESTAMPTZ(3) NOT NULL,
    "reminded_threshold" INTEGER NOT NULL DEFAULT 2147483647,
    "registered_by" TEXT,
    "previous_expires_at" TIMESTAMPTZ(3),
    "expiry_changed_at" TIMESTAMPTZ(3),
    "renewed_until" TIMESTAMPTZ(3),
    "renewed_at" TIMESTAMPTZ(3),
    "trusted" JSONB,
    "deleted_at" TIMESTAMPTZ(3),
    "deletion_phase" TEXT,
    "doubt" JSONB,
    "last_lookup_at" TIMESTAMPTZ(3),
    "whois" JSONB,
    "registrar" TEXT,
    "history" JSONB NOT NULL DEFAULT '{}',
    "known_changes" JSONB NOT NULL DEFAULT '[]',
    "in_use" BOOLEAN,
    "posture" JSONB,
    "findings" TEXT[] DEFAULT ARRAY[]::TEXT[],
    "next_dns_lookup_at" TIMESTAMPTZ(3) NOT NULL,
    "next_registry_lookup_at" TIMESTAMPTZ(3) NOT NULL,
    "registry_reserved" BOOLEAN NOT NULL DEFAULT false,
    "urgent" BOOLEAN NOT NULL DEFAULT false,
    "lease_until" TIMESTAMPTZ(3),
    "snoozed_until" TIMESTAMPTZ(3),
    "snoozed_by" TEXT,
    "snooze_reason" TEXT,
    "lapse_reason" TEXT,
    "lapse_requested_by" TEXT,
    "lapse_confirmed_by" TEXT,
    "lapse_confirmed_at" TIMESTAMPTZ(3),
    "owner_id" TEXT,
    "owner_left_at" TIMESTAMPTZ(3),
    "question" JSONB,
    "tags" TEXT[] DEFAULT ARRAY[]::TEXT[],
    "channel_id" TEXT,
    "note" TEXT,
    "team_id" TEXT NOT NULL DEFAULT installation_team(),

    CONSTRAINT "domains_pkey" PRIMARY KEY ("name")
);

-- CreateTable
CREATE TABLE "reminders" (
    "name" TEXT NOT NULL,
    "expires_at" TIMESTAMPTZ(3) NOT NULL,
    "threshold" INTEGER NOT NULL,
    "digest_id" TEXT NOT NULL,
    "destination" TEXT NOT NULL DEFAULT '',
    "purpose" TEXT NOT NULL DEFAULT '',
    "copy_purpose" TEXT,
    "undelivered" TEXT,
    "claimed_at" TIMESTAMPTZ(3) NOT NULL,
    "team_id" TEXT NOT NULL DEFAULT installation_team(),

    CONSTRAINT "reminders_pkey" PRIMARY KEY ("name","expires_at","threshold")
);

-- CreateTable
CREATE TABLE "calendar_feeds" (
    "user_id" TEXT NOT NULL,
    "token_hash" TEXT NOT NULL,
    "sealed" BYTEA NOT NULL,
    "key_id" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL,
    "team_id" TEXT NOT NULL DEFAULT installation_team(),

    CONSTRAINT "calendar_feeds_pkey" PRIMARY KEY ("user_id")
);

-- CreateTable
CREATE TABLE "prices" (
    "id" TEXT NOT NULL,
    "team_id" TEXT NOT NULL,
    "zone" TEXT NOT NULL,
    "task" TEXT NOT NULL,
    "period" INTEGER NOT NULL,
    "amount_minor" BIGINT NOT NULL,
    "currency" TEXT NOT NULL,
    "valid_from" DATE NOT NULL,
    "source" TEXT NOT NULL,
    "updated_by" TEXT NOT NULL,
    "updated_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "prices_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "stand_ins" (
    "team_id" TEXT NOT NULL,
    "user_id" TEXT NOT NULL,
    "stand_in_id" TEXT NOT NULL,
    "until" TIMESTAMPTZ(3) NOT NULL,
    "since" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "stand_ins_pkey" PRIMARY KEY ("team_id","user_id")
);

-- CreateTable
CREATE TABLE "policy_versions" (
    "team_id" TEXT NOT NULL,
    "version" INTEGER NOT NULL,
    "rules" JSONB NOT NULL,
    "published_by" TEXT NOT NULL,
    "published_at" TIMESTAMPTZ(3) NOT NULL,
    "confirmed_by" TEXT NOT NULL,
    "confirmed_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "policy_versions_pkey" PRIMARY KEY ("team_id","version")
);

-- CreateTable
CREATE TABLE "policy_drafts" (
    "team_id" TEXT NOT NULL,
    "revision" TEXT NOT NULL,
    "rules" JSONB NOT NULL,
    "changed_by" TEXT NOT NULL,
    "changed_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "policy_drafts_pkey" PRIMARY KEY ("team_id")
);

-- CreateTable
CREATE TABLE "proposals" (
    "id" TEXT NOT NULL,
    "team_id" TEXT NOT NULL,
    "kind" TEXT NOT NULL,
    "subject" TEXT,
    "payload" JSONB NOT NULL,
    "proposed_by" TEXT NOT NULL,
    "proposed_at" TIMESTAMPTZ(3) NOT NULL,
    "expires_at" TIMESTAMPTZ(3),
    "origin" JSONB,
    "confirmations" JSONB NOT NULL DEFAULT '[]',
    "state" TEXT NOT NULL DEFAULT 'proposed',
    "ended_by" TEXT,
    "ended_at" TIMESTAMPTZ(3),
    "version" INTEGER NOT NULL DEFAULT 0,

    CONSTRAINT "proposals_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "budgets" (
    "id" TEXT NOT NULL,
    "team_id" TEXT NOT NULL,
    "tag" TEXT NOT NULL,
    "span" TEXT NOT NULL,
    "amount_minor" BIGINT NOT NULL,
    "currency" TEXT NOT NULL,
    "updated_by" TEXT NOT NULL,
    "updated_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "budgets_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "budget_reservations" (
    "order_id" TEXT NOT NULL,
    "n" INTEGER NOT NULL,
    "team_id" TEXT NOT NULL,
    "day" DATE NOT NULL,
    "amount_minor" BIGINT,
    "currency" TEXT,
    "tags" TEXT[],

    CONSTRAINT "budget_reservations_pkey" PRIMARY KEY ("order_id","n")
);

-- CreateTable
CREATE TABLE "observations" (
    "seq" BIGSERIAL NOT NULL,
    "team_id" TEXT NOT NULL DEFAULT installation_team(),
    "name" TEXT NOT NULL,
    "at" TIMESTAMPTZ(3) NOT NULL,
    "origin" TEXT NOT NULL,
    "data" JSONB NOT NULL,

    CONSTRAINT "observations_pkey" PRIMARY KEY ("seq")
);

-- CreateTable
CREATE TABLE "order_impacts" (
    "order_id" TEXT NOT NULL,
    "team_id" TEXT NOT NULL,
    "at_request" JSONB NOT NULL,
    "latest" JSONB NOT NULL,
    "last_warning" JSONB,
    "warning_notified_at" TIMESTAMPTZ(3),
    "warned_findings" TEXT[],
    "thorough" BOOLEAN NOT NULL,
    "name_servers" JSONB,

    CONSTRAINT "order_impacts_pkey" PRIMARY KEY ("order_id")
);

-- CreateTable
CREATE TABLE "incidents" (
    "id" TEXT NOT NULL,
    "team_id" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "version" INTEGER NOT NULL DEFAULT 0,
    "state" TEXT NOT NULL,
    "opened_at" TIMESTAMPTZ(3) NOT NULL,
    "changes" JSONB NOT NULL,
    "proposed_by" TEXT,
    "proposed_reason" TEXT,
    "explained_by" TEXT,
    "reason" TEXT,
    "raised_by" TEXT,
    "over_at" TIMESTAMPTZ(3),

    CONSTRAINT "incidents_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "incident_warnings" (
    "order_id" TEXT NOT NULL,
    "incident_id" TEXT NOT NULL,
    "user_id" TEXT NOT NULL,
    "changes" INTEGER NOT NULL,
    "at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "incident_warnings_pkey" PRIMARY KEY ("order_id","incident_id","user_id")
);

-- CreateTable
CREATE TABLE "names_imports" (
    "team_id" TEXT NOT NULL,
    "hash" TEXT NOT NULL,
    "rows" JSONB NOT NULL,
    "by" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "names_imports_pkey" PRIMARY KEY ("team_id","hash")
);

-- CreateTable
CREATE TABLE "presets" (
    "id" TEXT NOT NULL,
    "team_id" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "kind" TEXT NOT NULL,
    "fields" JSONB NOT NULL,
    "updated_by" TEXT NOT NULL,
    "updated_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "presets_pkey" PRIMARY KEY ("id")
);

-- CreateIndex
CREATE INDEX "webhook_deliveries_team_id_endpoint_id_subject_seq_idx" ON "webhook_deliveries"("team_id", "endpoint_id", "subject", "seq");

-- CreateIndex
CREATE UNIQUE INDEX "accounts_team_key_key" ON "accounts"("team_key");

-- CreateIndex
CREATE UNIQUE INDEX "accounts_active_key_key" ON "accounts"("active_key");

-- CreateIndex
CREATE INDEX "accounts_key_id_idx" ON "accounts"("key_id");

-- CreateIndex
CREATE UNIQUE INDEX "accounts_team_id_user_id_slot_key" ON "accounts"("team_id", "user_id", "slot");

-- CreateIndex
CREATE UNIQUE INDEX "orders_delivery_id_key" ON "orders"("delivery_id");

-- CreateIndex
CREATE INDEX "orders_state_updated_at_idx" ON "orders"("state", "updated_at");

-- CreateIndex
CREATE INDEX "orders_requester_id_created_at_idx" ON "orders"("requester_id", "created_at");

-- CreateIndex
CREATE INDEX "orders_created_at_idx" ON "orders"("created_at");

-- CreateIndex
CREATE INDEX "orders_mandate_id_idx" ON "orders"("mandate_id");

-- CreateIndex
CREATE UNIQUE INDEX "mandate_acts_order_id_key" ON "mandate_acts"("order_id");

-- CreateIndex
CREATE INDEX "mandate_acts_mandate_id_at_idx" ON "mandate_acts"("mandate_id", "at");

-- CreateIndex
CREATE INDEX "mandate_acts_day_idx" ON "mandate_acts"("day");

-- CreateIndex
CREATE UNIQUE INDEX "mandate_acts_team_id_name_expires_at_key" ON "mandate_acts"("team_id", "name", "expires_at");

-- CreateIndex
CREATE UNIQUE INDEX "order_items_client_tid_key" ON "order_items"("client_tid");

-- CreateIndex
CREATE UNIQUE INDEX "order_items_open_key_key" ON "order_items"("open_key");

-- CreateIndex
CREATE INDEX "order_items_name_idx" ON "order_items"("name");

-- CreateIndex
CREATE INDEX "events_subject_kind_subject_id_seq_idx" ON "events"("subject_kind", "subject_id", "seq");

-- CreateIndex
CREATE INDEX "events_at_seq_idx" ON "events"("at", "seq");

-- CreateIndex
CREATE INDEX "unsealed_events_team_id_event_seq_idx" ON "unsealed_events"("team_id", "event_seq");

-- CreateIndex
CREATE UNIQUE INDEX "ledger_entries_event_seq_key" ON "ledger_entries"("event_seq");

-- CreateIndex
CREATE INDEX "seals_team_id_to_idx" ON "seals"("team_id", "to");

-- CreateIndex
CREATE INDEX "seals_team_id_at_idx" ON "seals"("team_id", "at");

-- CreateIndex
CREATE INDEX "anchors_team_id_at_idx" ON "anchors"("team_id", "at");

-- CreateIndex
CREATE INDEX "signing_links_expires_at_idx" ON "signing_links"("expires_at");

-- CreateIndex
CREATE INDEX "domains_expires_at_name_reminded_threshold_idx" ON "domains"("expires_at", "name", "reminded_threshold");

-- CreateIndex
CREATE INDEX "domains_tags_idx" ON "domains" USING GIN ("tags");

-- CreateIndex
CREATE INDEX "domains_owner_id_idx" ON "domains"("owner_id");

-- CreateIndex
CREATE INDEX "domains_deleted_at_idx" ON "domains"("deleted_at");

-- CreateIndex
CREATE INDEX "domains_renewed_at_idx" ON "domains"("renewed_at");

-- CreateIndex
CREATE INDEX "reminders_digest_id_idx" ON "reminders"("digest_id");

-- CreateIndex
CREATE INDEX "reminders_purpose_idx" ON "reminders"("purpose");

-- CreateIndex
CREATE UNIQUE INDEX "calendar_feeds_token_hash_key" ON "calendar_feeds"("token_hash");

-- CreateIndex
CREATE UNIQUE INDEX "prices_team_id_zone_task_period_valid_from_key" ON "prices"("team_id", "zone", "task", "period", "valid_from");

-- CreateIndex
CREATE INDEX "proposals_team_id_kind_proposed_at_idx" ON "proposals"("team_id", "kind", "proposed_at");

-- CreateIndex
CREATE INDEX "proposals_expires_at_idx" ON "proposals"("expires_at");

-- CreateIndex
CREATE UNIQUE INDEX "budgets_team_id_tag_span_key" ON "budgets"("team_id", "tag", "span");

-- CreateIndex
CREATE INDEX "budget_reservations_team_id_day_idx" ON "budget_reservations"("team_id", "day");

-- CreateIndex
CREATE INDEX "observations_name_seq_idx" ON "observations"("name", "seq");

-- CreateIndex
CREATE INDEX "incidents_team_id_name_opened_at_idx" ON "incidents"("team_id", "name", "opened_at");

-- CreateIndex
CREATE UNIQUE INDEX "presets_team_id_name_key" ON "presets"("team_id", "name");

-- AddForeignKey
ALTER TABLE "webhook_deliveries" ADD CONSTRAINT "webhook_deliveries_team_id_endpoint_id_fkey" FOREIGN KEY ("team_id", "endpoint_id") REFERENCES "webhook_endpoints"("team_id", "id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "order_items" ADD CONSTRAINT "order_items_order_id_fkey" FOREIGN KEY ("order_id") REFERENCES "orders"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "approvals" ADD CONSTRAINT "approvals_order_id_fkey" FOREIGN KEY ("order_id") REFERENCES "orders"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "revealable_secrets" ADD CONSTRAINT "revealable_secrets_order_id_fkey" FOREIGN KEY ("order_id") REFERENCES "orders"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "order_answers" ADD CONSTRAINT "order_answers_order_id_fkey" FOREIGN KEY ("order_id") REFERENCES "orders"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "budget_reservations" ADD CONSTRAINT "budget_reservations_order_id_fkey" FOREIGN KEY ("order_id") REFERENCES "orders"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "order_impacts" ADD CONSTRAINT "order_impacts_order_id_fkey" FOREIGN KEY ("order_id") REFERENCES "orders"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "incident_warnings" ADD CONSTRAINT "incident_warnings_order_id_fkey" FOREIGN KEY ("order_id") REFERENCES "orders"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- Written by hand from here on: Prisma's schema supports neither partial indexes nor checks.
ALTER TABLE "accounts" ADD CONSTRAINT "accounts_owner_check" CHECK (("user_id" IS NULL) = ("team_key" IS NOT NULL));

-- Partial indexes for the few rows that are due, open or kept.
CREATE INDEX "orders_due" ON "orders" ("due_at") WHERE "due_at" IS NOT NULL;
CREATE INDEX "notifications_retired" ON "notifications" ("purpose") WHERE "purpose" LIKE 'retired:%';
CREATE INDEX "notifications_due" ON "notifications" ("due_at") WHERE "purpose" = 'plan' AND "due_at" IS NOT NULL;
CREATE INDEX "orders_open_reviews" ON "orders" ("created_at")
  WHERE "emergency_approved_by" IS NOT NULL AND "signed_off_by" IS NULL;
CREATE INDEX "orders_redirects" ON "orders" ("created_at") WHERE "task" = 'redirect' AND "state" = 'SUCCEEDED';
CREATE INDEX "revealable_secrets_kept" ON "revealable_secrets" ("expires_at") WHERE "sealed" IS NOT NULL;
CREATE INDEX "domains_undated" ON "domains" ("name") WHERE "expires_at" IS NULL;
CREATE INDEX "domains_unused" ON "domains" ("name") WHERE "in_use" = false;
CREATE INDEX "domains_due" ON "domains" ("urgent" DESC, LEAST("next_dns_lookup_at", "next_registry_lookup_at"));
CREATE INDEX "incidents_open" ON "incidents" ("team_id", "opened_at") WHERE "state" IN ('open', 'raised');
-- The sending transaction reads from the log what items may still send and what mandates have spent.
CREATE INDEX "events_of_items" ON "events" ("subject_id", (coalesce("data"->>'n', '')))
  WHERE "subject_kind" = 'order' AND "kind" IN ('reopened', 'sending', 'retry_scheduled', 'answered', 'answered_late', 'stopped', 'denied',
    'cancelled', 'expired', 'released', 'resolved', 'invalidated', 'contradicted', 'finished');
CREATE INDEX "events_of_mandates" ON "events" ("team_id") WHERE "kind" = 'sending' AND "data" ? 'mandate';
CREATE INDEX "mandate_acts_to_be_asked" ON "mandate_acts" ("team_id", "ask_at") WHERE "ask_at" IS NOT NULL;

-- The statement of an order never changes.
CREATE FUNCTION refuse_statement_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'the statement of order % never changes', OLD.id;
END $$;
CREATE TRIGGER orders_statement_kept BEFORE UPDATE OF statement_hash ON "orders" FOR EACH ROW
  WHEN (OLD.statement_hash IS DISTINCT FROM NEW.statement_hash) EXECUTE FUNCTION refuse_statement_change();

-- The log is append-only, except for two functions: one forgets old events, the other one forgets a person.
CREATE FUNCTION refuse_event_change() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  callers text;
BEGIN
  GET DIAGNOSTICS callers = PG_CONTEXT;
  IF callers !~ 'function (delete_old_events|forget_person_in_events)\(' THEN
    RAISE EXCEPTION 'events are only added, so % is refused', TG_OP;
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER events_only_added BEFORE UPDATE OR DELETE OR TRUNCATE ON "events"
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_event_change();

-- Forgetting removes an event's content. Its row stays, with who forgot it and when, and the ledger keeps its hash. An unsealed
-- event gets a random hash, so that forgetting needn't wait for the sealer. Events about keys and charters are kept, because they
-- count regardless of age. Events of the last 30 days are always kept.
-- Events of an order keep its id, so that no new order can reuse it.
CREATE FUNCTION delete_old_events(before timestamptz, by text DEFAULT session_user) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
  forgotten bigint[];
  youngest timestamptz := now() - interval '30 days';
BEGIN
  WITH ended AS (
    SELECT id FROM (SELECT DISTINCT subject_id AS id FROM events WHERE subject_kind = 'order') logged
      WHERE NOT EXISTS (SELECT FROM orders o WHERE o.id = logged.id) AND has_ended_in_log(logged.id, youngest)
  ), changed AS (
    UPDATE events e SET subject_kind = 'forgotten', subject_id = CASE e.subject_kind WHEN 'order' THEN e.subject_id ELSE '' END,
        kind = 'forgotten', actor = 'system', data = '{}',
        forgotten_at = now(), forgotten_by = by, forgotten_leaf = coalesce(e.forgotten_leaf, unsealed_leaf(e.seq))
      WHERE e.subject_kind <> 'forgotten' AND CASE WHEN e.subject_kind = 'order'
        THEN e.subject_id IN (SELECT id FROM ended)
        ELSE e.at < least(before, youngest) AND e.subject_kind <> 'key' AND e.kind NOT IN ('charter_signed', 'events_forgotten') END
      RETURNING seq)
  SELECT array_agg(seq) INTO forgotten FROM changed;
  PERFORM note_forgotten('age', forgotten, by);
  RETURN coalesce(cardinality(forgotten), 0);
END $$;
CREATE FUNCTION is_in_force_in_log(mandate_id text) RETURNS boolean LANGUAGE sql STABLE AS $$
  SELECT coalesce(bool_or(kind = 'in_force') AND NOT bool_or(kind = 'mandate_ended'), false)
    FROM events WHERE subject_kind = 'order' AND subject_id = mandate_id
$$;
-- Whether an order ended before a time, by its log alone, because its row can be changed or deleted. A mandate's orders count
-- against its limits until the mandate ends.
CREATE FUNCTION has_ended_in_log(order_id text, before timestamptz) RETURNS boolean LANGUAGE sql STABLE AS $$
  SELECT bool_and(e.at < before)
      AND (array_agg(e.data->>'state' ORDER BY e.seq DESC))[1] IN ('SUCCEEDED', 'FAILED', 'DENIED', 'EXPIRED', 'CANCELLED')
      AND NOT is_in_force_in_log(order_id)
      AND NOT coalesce(bool_or(e.kind = 'sending' AND is_in_force_in_log(e.data->>'mandate')), false)
    FROM events e WHERE e.subject_kind = 'order' AND e.subject_id = order_id
$$;
CREATE FUNCTION refuse_forgotten_order() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF EXISTS (SELECT FROM events WHERE subject_kind = 'forgotten' AND subject_id = NEW.id) THEN
    RAISE EXCEPTION 'the log of order % was forgotten', NEW.id;
  END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER orders_not_forgotten BEFORE INSERT OR UPDATE OF id ON "orders"
  FOR EACH ROW EXECUTE FUNCTION refuse_forgotten_order();
-- Accepts only Slack user ids, and none that is also the name of a state.
CREATE FUNCTION forget_person_in_events(person text, by text DEFAULT session_user) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
  forgotten bigint[];
BEGIN
  IF (person ~ '^[UW][A-Z0-9]{2,}$' AND person NOT IN ('UNKNOWN', 'WAITING')) IS NOT TRUE THEN
    RAISE EXCEPTION '% is no Slack user id', person;
  END IF;
  WITH changed AS (
    UPDATE events e SET actor = without_person(actor, person), subject_id = without_person(subject_id, person),
        data = without_person((CASE WHEN subject_kind = 'order' AND actor = person AND data ? 'account'
          THEN jsonb_set(data, '{account}', '"former"') ELSE data END)::text, person)::jsonb,
        forgotten_at = now(), forgotten_by = by, forgotten_leaf = coalesce(e.forgotten_leaf, unsealed_leaf(e.seq))
      WHERE names_person(concat_ws(' ', actor, subject_id, data), person)
      RETURNING seq)
  SELECT array_agg(seq) INTO forgotten FROM changed;
  PERFORM note_forgotten('person', forgotten, by);
  RETURN coalesce(cardinality(forgotten), 0);
END $$;
-- Finds a Slack id anywhere in a text, but not within a longer id. Ids consist of capitals and digits.
CREATE FUNCTION names_person(content text, person text) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
  SELECT strpos(content, person) > 0 AND content ~ ('(?<![A-Z0-9])' || person || '(?![A-Z0-9])')
$$;
CREATE FUNCTION without_person(content text, person text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
  SELECT regexp_replace(content, '(?<![A-Z0-9])' || person || '(?![A-Z0-9])', 'former', 'g')
$$;
-- A random hash for an event that isn't sealed yet; else null.
CREATE FUNCTION unsealed_leaf(event_number bigint) RETURNS bytea LANGUAGE sql VOLATILE AS $$
  SELECT sha256(('forgotten' || gen_random_uuid() || gen_random_uuid())::bytea) FROM unsealed_events u WHERE u.event_seq = event_number
$$;
-- Forgetting is itself an event, which is sealed like every other. It lists the forgotten events: by ranges of their sequence
-- numbers in the ledger or, for unsealed ones, by their future leaf in the ledger.
CREATE FUNCTION note_forgotten(reason text, forgotten bigint[], by text) RETURNS void LANGUAGE sql AS $$
  WITH touched AS (
    SELECT e.team_id, e.seq AS event_seq, l.seq, e.forgotten_leaf,
        l.seq - row_number() OVER (PARTITION BY e.team_id ORDER BY l.seq) AS island
      FROM events e LEFT JOIN ledger_entries l ON l.event_seq = e.seq WHERE e.seq = ANY(forgotten)
  ), ranges AS (
    SELECT team_id, jsonb_agg(jsonb_build_array(first, last) ORDER BY first) AS seqs
      FROM (SELECT team_id, min(seq) AS first, max(seq) AS last FROM touched WHERE seq IS NOT NULL GROUP BY team_id, island) r
      GROUP BY team_id
  )
  INSERT INTO events (team_id, subject_kind, subject_id, kind, actor, at, data)
    SELECT t.team_id, 'ledger', 'events', 'events_forgotten', by, now(), jsonb_build_object('reason', reason, 'count', count(*),
      'seqs', coalesce(min(r.seqs::text)::jsonb, '[]'),
      'leaves', coalesce(jsonb_agg(encode(t.forgotten_leaf, 'hex') ORDER BY t.event_seq) FILTER (WHERE t.seq IS NULL), '[]'))
    FROM touched t LEFT JOIN ranges r ON r.team_id = t.team_id GROUP BY t.team_id
$$;

-- Events about keys and charters, which each name the previous one. Every decision checks for new ones.
CREATE INDEX "events_signing_idx" ON "events"("team_id", "seq") WHERE subject_kind IN ('key', 'policy') AND data ? 'previous';

-- Queues every event for sealing, in the transaction that writes it. Sequence numbers are assigned before the commit, so a
-- sealer that read "greater than the last number" would skip events that commit later.
CREATE FUNCTION await_seal() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO unsealed_events (event_seq, team_id) SELECT seq, team_id FROM added;
  RETURN NULL;
END $$;
CREATE TRIGGER events_await_seal AFTER INSERT ON "events" REFERENCING NEW TABLE AS added
  FOR EACH STATEMENT EXECUTE FUNCTION await_seal();

-- The ledger is append-only.
CREATE FUNCTION refuse_ledger_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION '% are only added, so % is refused', TG_TABLE_NAME, TG_OP;
END $$;
CREATE TRIGGER ledger_entries_only_added BEFORE UPDATE OR DELETE OR TRUNCATE ON "ledger_entries"
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_ledger_change();
CREATE TRIGGER seals_only_added BEFORE UPDATE OR DELETE OR TRUNCATE ON "seals"
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_ledger_change();
CREATE TRIGGER anchors_only_added BEFORE UPDATE OR DELETE OR TRUNCATE ON "anchors"
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_ledger_change();

-- Observations are append-only, except for deleting old ones and forgetting a person.
CREATE FUNCTION refuse_observation_change() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  callers text;
BEGIN
  GET DIAGNOSTICS callers = PG_CONTEXT;
  IF callers !~ 'function (delete_old_observations|forget_person_in_observations)\(' THEN
    RAISE EXCEPTION 'observations are only added, so % is refused', TG_OP;
  END IF;
  RETURN NULL;
END $$;
CREATE FUNCTION delete_old_observations(before timestamptz) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
  deleted bigint;
BEGIN
  DELETE FROM observations WHERE at < before;
  GET DIAGNOSTICS deleted = ROW_COUNT;
  RETURN deleted;
END $$;
CREATE FUNCTION forget_person_in_observations(person text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
  changed bigint;
BEGIN
  UPDATE observations SET data = without_person(data::text, person)::jsonb WHERE names_person(data::text, person);
  GET DIAGNOSTICS changed = ROW_COUNT;
  RETURN changed;
END $$;
CREATE TRIGGER observations_only_added BEFORE UPDATE OR DELETE OR TRUNCATE ON "observations"
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_observation_change();
