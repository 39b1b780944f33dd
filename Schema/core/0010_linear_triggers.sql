-- The triggers of the outbox encode bytes in time that grows with their length, not with its square. A migration creates
-- all triggers again, and needs no statement for that.
SELECT 1;
