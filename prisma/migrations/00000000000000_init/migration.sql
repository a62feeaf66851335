-- CreateTable
CREATE TABLE "accounts" (
    "id" TEXT NOT NULL,
    "team_id" TEXT NOT NULL,
    "user_id" TEXT NOT NULL,
    "method" TEXT NOT NULL,
    "slot" TEXT NOT NULL,
    "context" INTEGER,
    "login" TEXT NOT NULL,
    "application" TEXT,
    "sealed" BYTEA NOT NULL,
    "key_id" TEXT NOT NULL,
    "active_key" TEXT,
    "verified_at" TIMESTAMPTZ(3),
    "created_at" TIMESTAMPTZ(3) NOT NULL,
    "updated_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "accounts_pkey" PRIMARY KEY ("id")
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
    "context" INTEGER,
    "names" TEXT[],
    "input" JSONB NOT NULL,
    "has_secret_input" BOOLEAN NOT NULL,
    "sealed_input" BYTEA,
    "sealed_input_key_id" TEXT,
    "reason" TEXT,
    "channel_id" TEXT NOT NULL,
    "thread_ts" TEXT,
    "approvals_required" INTEGER NOT NULL,
    "retry_of" TEXT,
    "delivery_id" TEXT NOT NULL,
    "expires_at" TIMESTAMPTZ(3),
    "nudge_at" TIMESTAMPTZ(3),
    "worker_id" TEXT,
    "lease_until" TIMESTAMPTZ(3),
    "created_at" TIMESTAMPTZ(3) NOT NULL,
    "updated_at" TIMESTAMPTZ(3) NOT NULL,
    "closed_at" TIMESTAMPTZ(3),
    "shown_version" INTEGER NOT NULL DEFAULT 0,
    "notify_lease" TIMESTAMPTZ(3),

    CONSTRAINT "orders_pkey" PRIMARY KEY ("id")
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
    "followed_at" TIMESTAMPTZ(3),

    CONSTRAINT "order_items_pkey" PRIMARY KEY ("order_id","n")
);

-- CreateTable
CREATE TABLE "order_events" (
    "id" BIGSERIAL NOT NULL,
    "order_id" TEXT NOT NULL,
    "version" INTEGER NOT NULL,
    "at" TIMESTAMPTZ(3) NOT NULL,
    "actor" TEXT NOT NULL,
    "kind" TEXT NOT NULL,
    "state" TEXT NOT NULL,
    "detail" JSONB NOT NULL,

    CONSTRAINT "order_events_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "approvals" (
    "order_id" TEXT NOT NULL,
    "user_id" TEXT NOT NULL,
    "at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "approvals_pkey" PRIMARY KEY ("order_id","user_id")
);

-- CreateTable
CREATE TABLE "message_refs" (
    "order_id" TEXT NOT NULL,
    "purpose" TEXT NOT NULL,
    "channel_id" TEXT NOT NULL,
    "ts" TEXT NOT NULL,
    "posted_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "message_refs_pkey" PRIMARY KEY ("order_id","purpose")
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
CREATE TABLE "heartbeats" (
    "id" INTEGER NOT NULL,
    "seen_at" TIMESTAMPTZ(3) NOT NULL,
    "database" TEXT NOT NULL,

    CONSTRAINT "heartbeats_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "settings" (
    "key" TEXT NOT NULL,
    "value" JSONB NOT NULL,
    "updated_by" TEXT NOT NULL,
    "updated_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "settings_pkey" PRIMARY KEY ("key")
);

-- CreateTable
CREATE TABLE "setting_changes" (
    "id" BIGSERIAL NOT NULL,
    "key" TEXT NOT NULL,
    "before" TEXT NOT NULL,
    "after" TEXT NOT NULL,
    "by" TEXT NOT NULL,
    "at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "setting_changes_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "domains" (
    "name" TEXT NOT NULL,
    "version" INTEGER NOT NULL DEFAULT 0,
    "expires_at" TIMESTAMPTZ(3),
    "expiry_source" TEXT,
    "added_by" TEXT NOT NULL,
    "added_at" TIMESTAMPTZ(3) NOT NULL,
    "said_threshold" INTEGER NOT NULL DEFAULT 2147483647,
    "registered_by" TEXT,
    "renewed_until" TIMESTAMPTZ(3),
    "renewed_at" TIMESTAMPTZ(3),
    "previous_expires_at" TIMESTAMPTZ(3),
    "moved_at" TIMESTAMPTZ(3),
    "deleted_at" TIMESTAMPTZ(3),
    "checked_at" TIMESTAMPTZ(3),
    "next_check_at" TIMESTAMPTZ(3) NOT NULL,
    "check_problem" TEXT,
    "snoozed_until" TIMESTAMPTZ(3),
    "snoozed_by" TEXT,
    "snooze_reason" TEXT,
    "lapse_reason" TEXT,
    "lapse_requested_by" TEXT,
    "lapse_confirmed_by" TEXT,
    "lapse_confirmed_at" TIMESTAMPTZ(3),

    CONSTRAINT "domains_pkey" PRIMARY KEY ("name")
);

-- CreateTable
CREATE TABLE "reminders" (
    "name" TEXT NOT NULL,
    "expires_at" TIMESTAMPTZ(3) NOT NULL,
    "threshold" INTEGER NOT NULL,
    "digest_id" TEXT NOT NULL,
    "claimed_at" TIMESTAMPTZ(3) NOT NULL,
    "posted_at" TIMESTAMPTZ(3),

    CONSTRAINT "reminders_pkey" PRIMARY KEY ("name","expires_at","threshold")
);

-- CreateTable
CREATE TABLE "digests" (
    "id" TEXT NOT NULL,
    "scheduled_for" TIMESTAMPTZ(3) NOT NULL,
    "lease_until" TIMESTAMPTZ(3) NOT NULL,
    "channel_id" TEXT,
    "ts" TEXT,
    "completed_at" TIMESTAMPTZ(3),
    "complained_at" TIMESTAMPTZ(3),

    CONSTRAINT "digests_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "calendar_feeds" (
    "user_id" TEXT NOT NULL,
    "token_hash" TEXT NOT NULL,
    "sealed" BYTEA NOT NULL,
    "key_id" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "calendar_feeds_pkey" PRIMARY KEY ("user_id")
);

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
CREATE UNIQUE INDEX "order_items_client_tid_key" ON "order_items"("client_tid");

-- CreateIndex
CREATE UNIQUE INDEX "order_items_open_key_key" ON "order_items"("open_key");

-- CreateIndex
CREATE INDEX "order_items_name_idx" ON "order_items"("name");

-- CreateIndex
CREATE INDEX "order_events_order_id_id_idx" ON "order_events"("order_id", "id");

-- CreateIndex
CREATE INDEX "order_events_at_idx" ON "order_events"("at");

-- CreateIndex
CREATE INDEX "revealable_secrets_expires_at_idx" ON "revealable_secrets"("expires_at");

-- CreateIndex
CREATE INDEX "setting_changes_at_idx" ON "setting_changes"("at");

-- CreateIndex
CREATE INDEX "domains_expires_at_name_said_threshold_idx" ON "domains"("expires_at", "name", "said_threshold");

-- CreateIndex
CREATE INDEX "domains_next_check_at_idx" ON "domains"("next_check_at");

-- CreateIndex
CREATE INDEX "domains_deleted_at_idx" ON "domains"("deleted_at");

-- CreateIndex
CREATE INDEX "domains_renewed_at_idx" ON "domains"("renewed_at");

-- CreateIndex
CREATE INDEX "reminders_digest_id_idx" ON "reminders"("digest_id");

-- CreateIndex
CREATE UNIQUE INDEX "digests_scheduled_for_key" ON "digests"("scheduled_for");

-- CreateIndex
CREATE UNIQUE INDEX "calendar_feeds_token_hash_key" ON "calendar_feeds"("token_hash");

-- AddForeignKey
ALTER TABLE "order_items" ADD CONSTRAINT "order_items_order_id_fkey" FOREIGN KEY ("order_id") REFERENCES "orders"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "order_events" ADD CONSTRAINT "order_events_order_id_fkey" FOREIGN KEY ("order_id") REFERENCES "orders"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "approvals" ADD CONSTRAINT "approvals_order_id_fkey" FOREIGN KEY ("order_id") REFERENCES "orders"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "message_refs" ADD CONSTRAINT "message_refs_order_id_fkey" FOREIGN KEY ("order_id") REFERENCES "orders"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "revealable_secrets" ADD CONSTRAINT "revealable_secrets_order_id_fkey" FOREIGN KEY ("order_id") REFERENCES "orders"("id") ON DELETE RESTRICT ON UPDATE CASCADE;
