-- AlterTable
ALTER TABLE "events" ADD COLUMN     "forgotten_at" TIMESTAMPTZ(3),
ADD COLUMN     "forgotten_by" TEXT,
ADD COLUMN     "forgotten_leaf" BYTEA;

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
CREATE TABLE "anchor_timestamps" (
    "team_id" TEXT NOT NULL,
    "n" INTEGER NOT NULL,
    "token" BYTEA NOT NULL,
    "at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "anchor_timestamps_pkey" PRIMARY KEY ("team_id","n")
);

-- CreateTable
CREATE TABLE "ledger_keys" (
    "team_id" TEXT NOT NULL,
    "sealed" BYTEA NOT NULL,
    "key_id" TEXT NOT NULL,

    CONSTRAINT "ledger_keys_pkey" PRIMARY KEY ("team_id")
);

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

-- Every event waits for a seal, in the transaction that writes it: the log's numbers are given before their commit, so that
-- whoever went by "greater than the last" would skip what commits later.
CREATE FUNCTION await_seal() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO unsealed_events (event_seq, team_id) SELECT seq, team_id FROM added;
  RETURN NULL;
END $$;
CREATE TRIGGER events_await_seal AFTER INSERT ON "events" REFERENCING NEW TABLE AS added
  FOR EACH STATEMENT EXECUTE FUNCTION await_seal();
INSERT INTO unsealed_events (event_seq, team_id) SELECT seq, team_id FROM events;

-- The ledger is only added to.
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
CREATE TRIGGER anchor_timestamps_only_added BEFORE UPDATE OR DELETE OR TRUNCATE ON "anchor_timestamps"
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_ledger_change();

-- Forgetting takes the content of an event away. Its row stays, with who forgot it and when, and the ledger keeps its hash. What no
-- seal covers yet gets a hash that can be made of nothing else, so that forgetting waits for nobody.
DROP FUNCTION delete_old_events(timestamptz);
CREATE FUNCTION delete_old_events(before timestamptz, by text DEFAULT session_user) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
  forgotten bigint;
BEGIN
  UPDATE events e SET subject_kind = 'forgotten', subject_id = '', kind = 'forgotten', actor = 'system', data = '{}',
      forgotten_at = now(), forgotten_by = by, forgotten_leaf = coalesce(e.forgotten_leaf, unsealed_leaf(e.seq))
    WHERE e.subject_kind <> 'forgotten' AND CASE WHEN e.subject_kind = 'order'
      THEN NOT EXISTS (SELECT FROM orders o WHERE o.id = e.subject_id)
      ELSE e.at < before AND e.kind <> 'events_forgotten' END;
  GET DIAGNOSTICS forgotten = ROW_COUNT;
  PERFORM note_forgotten('age', forgotten, by);
  RETURN forgotten;
END $$;
DROP FUNCTION forget_person_in_events(text);
CREATE FUNCTION forget_person_in_events(person text, by text DEFAULT session_user) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
  forgotten bigint;
BEGIN
  UPDATE events e SET actor = CASE actor WHEN person THEN 'former' ELSE actor END,
      subject_id = CASE WHEN subject_kind = 'person' AND subject_id = person THEN 'former' ELSE subject_id END,
      data = replace((CASE WHEN subject_kind = 'order' AND actor = person AND data ? 'account'
        THEN jsonb_set(data, '{account}', '"former"') ELSE data END)::text, to_jsonb(person)::text, '"former"')::jsonb,
      forgotten_at = now(), forgotten_by = by, forgotten_leaf = coalesce(e.forgotten_leaf, unsealed_leaf(e.seq))
    WHERE actor = person OR (subject_kind = 'person' AND subject_id = person)
      OR strpos(data::text, to_jsonb(person)::text) > 0;
  GET DIAGNOSTICS forgotten = ROW_COUNT;
  PERFORM note_forgotten('person', forgotten, by);
  RETURN forgotten;
END $$;
-- The hash of random bytes, for an event that is not sealed yet.
CREATE FUNCTION unsealed_leaf(event_number bigint) RETURNS bytea LANGUAGE sql VOLATILE AS $$
  SELECT sha256(('forgotten' || gen_random_uuid() || gen_random_uuid())::bytea) FROM unsealed_events u WHERE u.event_seq = event_number
$$;
-- That something was forgotten is an event itself, which is sealed as every other.
CREATE FUNCTION note_forgotten(reason text, number_of_events bigint, by text) RETURNS void LANGUAGE sql AS $$
  INSERT INTO events (subject_kind, subject_id, kind, actor, at, data)
    SELECT 'ledger', 'events', 'events_forgotten', by, now(), jsonb_build_object('reason', reason, 'count', number_of_events)
    WHERE number_of_events > 0
$$;
