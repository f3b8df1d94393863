-- assets
SELECT a.asset, a.type, a.container,
       coalesce(l.domains, []) AS domains, coalesce(l.tags, []) AS tags,
       coalesce(l.sensitive, []) AS sensitive, coalesce(o.owners, []) AS owners,
       s.class AS see_class, r.class AS read_class, c.class AS change_class,
       CASE WHEN a.type IN (SELECT type FROM ways WHERE way = 'see')
            THEN coalesce(s.users, 0) END AS see_users,
       CASE WHEN a.type IN (SELECT type FROM ways WHERE way = 'read')
            THEN coalesce(r.users, 0) END AS read_users,
       CASE WHEN a.type IN (SELECT type FROM ways WHERE way = 'change')
            THEN coalesce(c.users, 0) END AS change_users
FROM asset a
LEFT JOIN label_lists l ON l.entity = a.id
LEFT JOIN owner_lists o ON o.entity = a.id
LEFT JOIN asset_count s ON s.entity = a.id AND s.way = 'see'
LEFT JOIN asset_count r ON r.entity = a.id AND r.way = 'read'
LEFT JOIN asset_count c ON c.entity = a.id AND c.way = 'change'
ORDER BY a.asset;

-- class_users
SELECT class, user, reason FROM class_users ORDER BY class, user;

-- owner_users
SELECT w.way, a.asset, w.user, w.reason, w.sole
FROM owner_users w
JOIN asset a ON a.id = w.entity
ORDER BY a.asset, w.way, w.user;

-- people
SELECT u.name AS user, w.way,
       coalesce(s.assets, 0)::BIGINT + coalesce(o.assets, 0) AS assets,
       coalesce(s.sensitive, 0)::BIGINT + coalesce(o.sensitive, 0)::BIGINT AS sensitive,
       coalesce(o.assets, 0) AS through_ownership,
       CASE WHEN (SELECT logged FROM given) THEN coalesce(t.assets, 0) END AS used,
       t.last AS last_used
FROM users u
CROSS JOIN (SELECT DISTINCT way FROM ways) w
LEFT JOIN (
    SELECT n.way, p.user_id, sum(n.assets) AS assets, sum(n.sensitive) AS sensitive
    FROM class_count n
    JOIN class_person p ON p.class = n.class
    GROUP BY n.way, p.user_id
) s ON s.way = w.way AND s.user_id = u.id
LEFT JOIN (
    SELECT o.way, o.user_id, count(*) AS assets, count(*) FILTER (l.entity IS NOT NULL) AS sensitive
    FROM owner_users o
    LEFT JOIN sensitive_asset l ON l.entity = o.entity
    WHERE o.sole
    GROUP BY o.way, o.user_id
) o ON o.way = w.way AND o.user_id = u.id
LEFT JOIN (
    SELECT way, user_id, count(DISTINCT entity) AS assets, max(last) AS last
    FROM used
    GROUP BY way, user_id
) t ON t.way = w.way AND t.user_id = u.id
ORDER BY u.name, w.way;

-- by_tag
SELECT g.label AS tag, g.way, u.name AS user, sum(g.assets)::BIGINT AS assets
FROM (
    SELECT l.label, w.way, p.user_id, count(*) AS assets
    FROM labels l
    JOIN way_class w ON w.entity = l.entity
    JOIN class_person p ON p.class = w.class
    WHERE l.kind <> 'domain'
    GROUP BY l.label, w.way, p.user_id
    UNION ALL
    SELECT l.label, o.way, o.user_id, count(*) AS assets
    FROM labels l
    JOIN owner_users o ON o.entity = l.entity
    WHERE l.kind <> 'domain' AND o.sole
    GROUP BY l.label, o.way, o.user_id
) g
JOIN users u ON u.id = g.user_id
GROUP BY g.label, g.way, u.name
ORDER BY g.label, g.way, u.name;

-- by_owner
SELECT g.owner, g.way, u.name AS user, sum(g.assets)::BIGINT AS assets
FROM (
    SELECT s.owner, s.way, p.user_id, sum(s.assets) AS assets
    FROM (
        SELECT o.owner, w.way, w.class, count(*) AS assets
        FROM owned o
        JOIN way_class w ON w.entity = o.entity
        GROUP BY o.owner, w.way, w.class
    ) s
    JOIN class_person p ON p.class = s.class
    GROUP BY s.owner, s.way, p.user_id
    UNION ALL
    SELECT o.owner, w.way, w.user_id, count(*) AS assets
    FROM owned o
    JOIN owner_users w ON w.entity = o.entity
    WHERE w.sole
    GROUP BY o.owner, w.way, w.user_id
) g
JOIN users u ON u.id = g.user_id
GROUP BY g.owner, g.way, u.name
ORDER BY g.owner, g.way, u.name;

-- by_grant
SELECT g.way, g.principal AS through, g.statement, t.title, g.privilege,
       count(DISTINCT p.user_id) AS users,
       (SELECT sum(n.assets)::BIGINT FROM class_count n
        WHERE n.way = g.way AND n.class IN (
            SELECT s.class FROM set_grant s
            WHERE s.principal = g.principal AND s.statement = g.statement
              AND s.privilege = g.privilege)) AS assets
FROM (
    SELECT DISTINCT n.way, s.class, s.role_set, s.principal, s.statement, s.privilege
    FROM set_grant s
    JOIN class_count n ON n.class = s.class
) g
JOIN users u ON u.role_set = g.role_set
JOIN class_person p ON p.class = g.class AND p.user_id = u.id
JOIN statements t ON t.id = g.statement
GROUP BY g.way, g.principal, g.statement, t.title, g.privilege
UNION ALL
SELECT way, 'ownership', NULL, NULL, reason, count(DISTINCT user_id), count(DISTINCT entity)
FROM owner_users
GROUP BY way, reason
ORDER BY ALL;

-- never_used
SELECT u.name AS user, g.way, g.reason, sum(g.assets)::BIGINT AS assets, min(g.example) AS example
FROM (
    SELECT n.way, c.user_id, c.reason, n.assets, n.example
    FROM class_users c
    JOIN class_count n ON n.class = c.class
    WHERE NOT EXISTS (
        SELECT 1 FROM used s
        JOIN way_class w ON w.way = s.way AND w.entity = s.entity
        WHERE s.way = n.way AND s.user_id = c.user_id AND w.class = c.class)
    UNION ALL
    SELECT o.way, o.user_id, o.reason, count(*), min(a.asset)
    FROM owner_users o
    JOIN asset a ON a.id = o.entity
    WHERE o.sole AND NOT EXISTS (
        SELECT 1 FROM used s
        WHERE s.way = o.way AND s.user_id = o.user_id AND s.entity = o.entity)
    GROUP BY o.way, o.user_id, o.reason
) g
JOIN users u ON u.id = g.user_id
WHERE (SELECT logged FROM given)
GROUP BY u.name, g.way, g.reason
ORDER BY u.name, g.way, g.reason;

-- toxic
SELECT c.id AS combination, c.title, f.user,
       f.example AS first_asset, f.assets AS first_assets, f.reason AS first_reason,
       s.example AS second_asset, s.assets AS second_assets, s.reason AS second_reason
FROM side_users f
JOIN side_users s ON s.number = f.number AND s.user = f.user
JOIN combinations c ON c.number = f.number
WHERE f.side = 'first' AND s.side = 'second' AND NOT EXISTS (
    SELECT 1 FROM excepted e
    JOIN named n ON n.principal = e.principal
    JOIN acts_as t ON t.principal = n.id AND t.user_id = f.user_id
    WHERE e.number = f.number)
ORDER BY c.id, f.user;

-- combinations
SELECT c.id AS combination, c.title,
       (SELECT count(*) FROM side_asset s WHERE s.number = c.number AND s.side = 'first')
       AS first_assets,
       (SELECT count(*) FROM side_asset s WHERE s.number = c.number AND s.side = 'second')
       AS second_assets
FROM combinations c
ORDER BY c.id;

-- changes
SELECT change,
       CASE WHEN change = 'gained' AND user NOT IN (SELECT user FROM earlier_people) THEN 'joined'
            WHEN change = 'lost' AND user NOT IN (SELECT user FROM now_people) THEN 'left'
            WHEN NOT is_on_both AND change = 'gained' THEN 'new asset'
            WHEN NOT is_on_both THEN 'asset gone'
            ELSE 'access' END AS cause,
       way, user, reason, assets, example
FROM gains
WHERE (SELECT compared FROM given)
ORDER BY ALL;

-- joiners_leavers
SELECT user, 'joined' AS change FROM now_people
WHERE user NOT IN (SELECT user FROM earlier_people) AND (SELECT compared FROM given)
UNION ALL
SELECT user, 'left' FROM earlier_people WHERE user NOT IN (SELECT user FROM now_people)
ORDER BY ALL;

-- access
SELECT x.way, a.asset, coalesce(l.tags, []) AS tags, coalesce(l.sensitive, []) AS sensitive,
       coalesce(o.owners, []) AS owners, x.user, x.reason
FROM (
    SELECT w.way, w.entity, c.user,
           c.reason || coalesce('; ' || t.reason, '') AS reason
    FROM way_class w
    JOIN class_users c ON c.class = w.class
    LEFT JOIN owner_users t
      ON t.way = w.way AND t.entity = w.entity AND t.user_id = c.user_id
    UNION ALL
    SELECT way, entity, user, reason FROM owner_users WHERE sole
) x
JOIN asset a ON a.id = x.entity
LEFT JOIN label_lists l ON l.entity = a.id
LEFT JOIN owner_lists o ON o.entity = a.id
WHERE a.id IN (SELECT entity FROM paired)
ORDER BY a.asset, x.way, x.user;
