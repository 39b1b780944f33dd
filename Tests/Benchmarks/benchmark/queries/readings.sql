-- name: change :exec
-- Writes a reading anew.
UPDATE reading SET relativeHumidity = :relativeHumidity, temperature = :temperature, note = :note, date = :date
WHERE readingId = :readingId;
