-- name: cheaperThan :many
-- The items below a price, the cheapest first.
SELECT name, price FROM item WHERE price < :price ORDER BY price;
