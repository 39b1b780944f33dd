-- The triggers of the outbox keep the type of each value in tables that are not STRICT, and queue an edit that changes only
-- the case of a text. A migration creates all triggers again. The statement has no effect.
SELECT 1;
