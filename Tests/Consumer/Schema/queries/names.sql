-- name: class :many
-- A query whose name, parameters and results are words of Swift.
SELECT "key" AS "self", "class", db AS hashValue FROM "order item" WHERE "class" = :self AND db = :db AND "key" >= :rows;
