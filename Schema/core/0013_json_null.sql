-- The triggers of the outbox keep an edit that sets a JSON column to the JSON null. A migration creates all triggers again.
-- The statement has no effect.
SELECT 1;
