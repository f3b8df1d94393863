-- What an export says by class, unrolled by access level (`ways`), asset and person. The tables of
-- the export are declared, and so are `ways` (way, type, matter) and `labels` (entity, kind, label,
-- sensitive). Run in one go, in this order.

CREATE TEMPORARY TABLE asset AS
SELECT e.id, e.type, e.type || ':' || e.name AS asset, p.type || ':' || p.name AS container
FROM entities e
LEFT JOIN entities p ON p.id = e.parent
WHERE e.stored AND e.type IN (SELECT type FROM ways);

CREATE TEMPORARY TABLE named AS
SELECT id, kind || ':' || name AS principal, name FROM principals;

-- The class of each asset. Of an asset without one nobody has access.
CREATE TEMPORARY TABLE way_class AS
SELECT w.way, c.entity, c.class
FROM classes c
JOIN ways w ON w.matter = c.matter
JOIN asset a ON a.id = c.entity;

CREATE TEMPORARY TABLE class_person AS
SELECT class, user_id, min(need) AS need
FROM decisions
JOIN crowd_people USING (crowd)
WHERE need < 2 AND class IN (SELECT class FROM way_class)
GROUP BY class, user_id;

-- The ALLOWs of a class that apply to the users of a role set, and through whom.
CREATE TEMPORARY TABLE set_grant AS
SELECT DISTINCT s.class, r.role_set, s.statement, s.privilege, n.principal
FROM class_statements s
JOIN statement_principals t ON t.statement = s.statement
JOIN role_sets r ON r.principal = t.principal
JOIN named n ON n.id = t.principal
WHERE s.effect = 'allow' AND s.class IN (SELECT class FROM way_class);

CREATE TEMPORARY TABLE set_reason AS
SELECT class, role_set,
       string_agg(said, '; ' ORDER BY said) AS reason
FROM (
    SELECT class, role_set,
           principal || ' has ' || string_agg(DISTINCT privilege, ' and ' ORDER BY privilege)
           || ' (' || statement || ')' AS said
    FROM set_grant
    GROUP BY class, role_set, principal, statement
)
GROUP BY class, role_set;

CREATE TEMPORARY TABLE class_users AS
SELECT p.class, u.name AS user, p.user_id,
       CASE WHEN p.need = 1 THEN n.says ELSE coalesce(r.reason, n.says) END AS reason
FROM class_person p
JOIN users u ON u.id = p.user_id
JOIN needs n ON n.id = p.need
LEFT JOIN set_reason r ON r.class = p.class AND r.role_set = u.role_set;

-- Access through ownership, or of the user's own entity. `sole`: not through statements, too.
CREATE TEMPORARY TABLE owner_users AS
SELECT w.way, w.entity, u.name AS user, u.id AS user_id,
       string_agg(DISTINCT n.says, '; ' ORDER BY n.says) AS reason,
       bool_and(c.user_id IS NULL) AS sole
FROM way_class w
JOIN decisions d ON d.class = w.class AND d.need >= 2
JOIN meeting t ON t.need = d.need AND t.entity = w.entity
JOIN crowd_people p ON p.crowd = d.crowd AND p.user_id = t.user_id
JOIN users u ON u.id = p.user_id
JOIN needs n ON n.id = d.need
LEFT JOIN class_person c ON c.class = w.class AND c.user_id = p.user_id
GROUP BY w.way, w.entity, u.name, u.id;

CREATE TEMPORARY TABLE label_lists AS
SELECT entity,
       coalesce(list(label ORDER BY label) FILTER (kind = 'domain'), []) AS domains,
       coalesce(list(label ORDER BY label) FILTER (kind IN ('tag', 'term')), []) AS tags,
       coalesce(list(label ORDER BY label) FILTER (sensitive), []) AS sensitive
FROM labels
GROUP BY entity;

CREATE TEMPORARY TABLE owner_lists AS
SELECT o.entity, list(DISTINCT n.principal ORDER BY n.principal) AS owners
FROM owners o
JOIN named n ON n.id = o.principal
GROUP BY entity;

-- How many people have access to each asset.
CREATE TEMPORARY TABLE asset_count AS
SELECT w.way, w.entity, w.class, coalesce(c.n, 0) + coalesce(o.n, 0) AS users
FROM way_class w
LEFT JOIN (SELECT class, count(*) AS n FROM class_person GROUP BY class) c ON c.class = w.class
LEFT JOIN (
    SELECT way, entity, count(*) AS n FROM owner_users WHERE sole GROUP BY way, entity
) o ON o.way = w.way AND o.entity = w.entity;

CREATE TEMPORARY TABLE sensitive_asset AS
SELECT DISTINCT l.entity FROM labels l JOIN asset a ON a.id = l.entity WHERE l.sensitive;

CREATE TEMPORARY TABLE owned AS
SELECT DISTINCT o.entity, n.principal AS owner
FROM owners o
JOIN named n ON n.id = o.principal
JOIN asset a ON a.id = o.entity;

CREATE TEMPORARY TABLE class_count AS
SELECT w.way, w.class, count(*) AS assets, count(s.entity) AS sensitive, min(a.asset) AS example
FROM way_class w
JOIN asset a ON a.id = w.entity
LEFT JOIN sensitive_asset s ON s.entity = w.entity
GROUP BY w.way, w.class;

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
SELECT s.number, s.side, w.way, w.entity, w.class, a.asset
FROM sides s
JOIN way_class w ON w.way = s.way
JOIN asset a ON a.id = w.entity
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
SELECT number, side, user, user_id, sum(assets)::BIGINT AS assets, min(example) AS example,
       arg_min(reason, example) AS reason
FROM (
    SELECT s.number, s.side, c.user, c.user_id, c.reason, s.assets, s.example
    FROM (
        SELECT number, side, class, count(*) AS assets, min(asset) AS example
        FROM side_asset
        GROUP BY number, side, class
    ) s
    JOIN class_users c ON c.class = s.class
    UNION ALL
    SELECT s.number, s.side, o.user, o.user_id, o.reason, 1, s.asset
    FROM side_asset s
    JOIN owner_users o ON o.way = s.way AND o.entity = s.entity AND o.sole
)
GROUP BY number, side, user, user_id;

-- The same assets and people in the earlier output (`earlier_…`) and in this one.
CREATE TEMPORARY TABLE now_place AS
SELECT a.asset, w.way, c.class
FROM asset a
CROSS JOIN (SELECT DISTINCT way FROM ways) w
LEFT JOIN way_class c ON c.entity = a.id AND c.way = w.way;

CREATE TEMPORARY TABLE earlier_place AS
SELECT asset, way, class FROM (
    SELECT asset, 'see' AS way, see_class AS class FROM earlier_assets
    UNION ALL SELECT asset, 'read', read_class FROM earlier_assets
    UNION ALL SELECT asset, 'change', change_class FROM earlier_assets
) WHERE way IN (SELECT way FROM ways);

CREATE TEMPORARY TABLE place AS
SELECT coalesce(n.asset, e.asset) AS asset, coalesce(n.way, e.way) AS way,
       n.class AS now_class, e.class AS earlier_class,
       n.asset IS NOT NULL AND e.asset IS NOT NULL AS is_on_both
FROM now_place n
FULL JOIN earlier_place e ON e.asset = n.asset AND e.way = n.way;

CREATE TEMPORARY TABLE move AS
SELECT way, now_class, earlier_class, is_on_both, count(*) AS assets, min(asset) AS example
FROM place
GROUP BY way, now_class, earlier_class, is_on_both;

CREATE TEMPORARY VIEW now_users AS SELECT class, user, reason FROM class_users;
CREATE TEMPORARY VIEW earlier_users AS SELECT class, user, reason FROM earlier_class_users;
CREATE TEMPORARY TABLE now_owner AS
SELECT o.way, a.asset, o.user, o.reason
FROM owner_users o JOIN asset a ON a.id = o.entity
WHERE o.sole;
CREATE TEMPORARY TABLE earlier_owner AS
SELECT way, asset, user, reason FROM earlier_owner_users WHERE sole;
CREATE TEMPORARY VIEW now_people AS SELECT name AS user FROM users;
CREATE TEMPORARY VIEW earlier_people AS SELECT DISTINCT user FROM earlier_people_rows;
