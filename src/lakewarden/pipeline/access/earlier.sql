-- The earlier report (`earlier_…`, as its files have it) by numbers: those of this one, and below
-- zero for what is there no more.
CREATE TEMPORARY TABLE every_user AS
SELECT name AS user, id AS user_id FROM users
UNION ALL
SELECT user, -row_number() OVER (ORDER BY user)
FROM (SELECT DISTINCT user FROM earlier_people_rows WHERE user NOT IN (SELECT name FROM users));

CREATE TEMPORARY TABLE every_asset AS
SELECT asset, id AS entity, asset IN (SELECT asset FROM earlier_assets) AS is_on_both FROM asset
UNION ALL
SELECT asset, -row_number() OVER (ORDER BY asset), false
FROM earlier_assets
WHERE asset NOT IN (SELECT asset FROM asset);

CREATE TEMPORARY TABLE earlier_class_person AS
SELECT c.class, u.user_id, c.reason AS said
FROM earlier_class_sets c
JOIN earlier_people_lists l USING (people)
JOIN every_user u USING (user);

CREATE TEMPORARY TABLE earlier_class_grant AS
SELECT class, holder AS principal, reason, md5_number(holder || reason) AS mark
FROM earlier_class_grants;

CREATE TEMPORARY TABLE earlier_holder_user AS
SELECT h.holder AS principal, u.user_id, h.holder
FROM earlier_holders h
JOIN every_user u USING (user);

CREATE TEMPORARY TABLE people_number AS
SELECT people, row_number() OVER (ORDER BY people)::INTEGER AS number
FROM (SELECT DISTINCT people FROM earlier_owner_sets);

CREATE TEMPORARY TABLE earlier_list_person AS
SELECT n.number AS people, u.user_id
FROM earlier_people_lists l
JOIN people_number n USING (people)
JOIN every_user u USING (user);

CREATE TEMPORARY TABLE owners_number AS
SELECT owners, row_number() OVER (ORDER BY owners)::INTEGER AS number
FROM (SELECT DISTINCT owners FROM earlier_owner_sets);

CREATE TEMPORARY TABLE earlier_owner_tie AS
SELECT s.number AS owners, p.number AS people, o.reason
FROM earlier_owner_sets o
JOIN owners_number s USING (owners)
JOIN people_number p USING (people);

CREATE TEMPORARY TABLE earlier_standing AS
SELECT e.way, a.entity, e.class, o.number AS owners
FROM (
    SELECT asset, 'see' AS way, see_class AS class, see_owners AS owners FROM earlier_assets
    UNION ALL SELECT asset, 'read', read_class, read_owners FROM earlier_assets
    UNION ALL SELECT asset, 'change', change_class, change_owners FROM earlier_assets
) e
JOIN every_asset a USING (asset)
LEFT JOIN owners_number o USING (owners)
WHERE e.class IS NOT NULL AND e.way IN (SELECT way FROM ways);
