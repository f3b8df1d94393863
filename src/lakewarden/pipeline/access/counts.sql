-- What is asked of the sources of this report, and of the selected assets of combinations.

CREATE TEMPORARY TABLE source_size AS
SELECT source, count(*) AS users FROM now_source_person GROUP BY source;

CREATE TEMPORARY TABLE bundle_size AS
SELECT b.bundle, coalesce(sum(s.users), 0)::BIGINT AS users
FROM now_bundle_source b
LEFT JOIN source_size s USING (source)
GROUP BY b.bundle;

CREATE TEMPORARY TABLE source_count AS
SELECT c.way, s.source, sum(c.assets)::BIGINT AS assets, sum(c.sensitive)::BIGINT AS sensitive,
       min(c.example) AS example
FROM (
    SELECT p.way, p.bundle, count(*) AS assets, count(l.entity) AS sensitive, min(a.asset) AS example
    FROM now_position p
    JOIN asset a ON a.id = p.entity
    LEFT JOIN sensitive_asset l ON l.entity = p.entity
    GROUP BY p.way, p.bundle
) c
JOIN now_bundle_source s USING (bundle)
GROUP BY c.way, s.source;

CREATE TEMPORARY VIEW standing AS
SELECT p.way, p.entity, b.class::VARCHAR AS class, n.name AS owners, z.users
FROM now_position p
JOIN now_bundle b USING (bundle)
JOIN bundle_size z USING (bundle)
LEFT JOIN owners_name n USING (owners);

CREATE TEMPORARY TABLE class_count AS
SELECT n.way, b.class, n.assets
FROM source_count n
JOIN (SELECT DISTINCT stated, class FROM now_bundle) b ON b.stated = n.source;

CREATE TEMPORARY TABLE owners_count AS
SELECT p.way, b.owners, count(*) AS assets
FROM now_position p
JOIN now_bundle b USING (bundle)
WHERE b.owners IS NOT NULL
GROUP BY p.way, b.owners;

-- What was done lately (`log`: user, operation, asset, last; `acts`: way, operation, type). An
-- access whose name is of no access level may be of any: nothing is called unused that was not.
CREATE TEMPORARY TABLE used AS
SELECT w.way, a.id AS entity, u.id AS user_id, max(l.last) AS last
FROM log l
JOIN users u ON u.name = l.user
JOIN asset a ON a.asset = l.asset
CROSS JOIN (SELECT DISTINCT way FROM ways) w
WHERE EXISTS (SELECT 1 FROM acts t WHERE t.way = w.way AND t.operation = l.operation)
   OR NOT EXISTS (SELECT 1 FROM acts t WHERE t.operation = l.operation)
GROUP BY w.way, a.id, u.id;

-- Both sides of each combination (`sides`: number, side, way, selector, value).
CREATE TEMPORARY TABLE side_asset AS
SELECT s.number, s.side, p.way, p.entity, p.bundle, a.asset
FROM sides s
JOIN now_position p ON p.way = s.way
JOIN asset a ON a.id = p.entity
WHERE CASE s.selector
    WHEN 'asset' THEN a.asset = s.value
    WHEN 'type' THEN a.type = s.value
    WHEN 'tag' THEN a.id IN (SELECT l.entity FROM labels l WHERE l.label = s.value)
    WHEN 'owner' THEN a.id IN (SELECT o.entity FROM owned o WHERE o.owner = s.value)
    WHEN 'inside' THEN EXISTS (
        SELECT 1 FROM entities c
        WHERE c.type || ':' || c.name = s.value AND a.id > c.id AND a.id <= c.last)
    END;

CREATE TEMPORARY TABLE side_users AS
SELECT s.number, s.side, p.user_id, sum(s.assets)::BIGINT AS assets,
       min(s.example) AS example, arg_min(s.source, s.example) AS source,
       arg_min(s.class, s.example) AS class, arg_min(p.owns, s.example) AS owns
FROM (
    SELECT a.number, a.side, s.source, b.class, count(*) AS assets, min(a.asset) AS example
    FROM side_asset a
    JOIN now_bundle b USING (bundle)
    JOIN now_bundle_source s USING (bundle)
    GROUP BY a.number, a.side, s.source, b.class
) s
JOIN now_source_person p USING (source)
GROUP BY s.number, s.side, p.user_id;

CREATE TEMPORARY TABLE toxic_user AS
SELECT f.number, f.user_id
FROM side_users f
JOIN side_users s ON s.number = f.number AND s.user_id = f.user_id
WHERE f.side = 'first' AND s.side = 'second' AND NOT EXISTS (
    SELECT 1 FROM excepted e
    JOIN named n ON n.principal = e.principal
    JOIN acts_as t ON t.principal = n.id AND t.user_id = f.user_id
    WHERE e.number = f.number);
