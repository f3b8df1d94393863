-- assets
SELECT a.asset, a.type, a.container,
       coalesce(l.domains, []) AS domains, coalesce(l.tags, []) AS tags,
       coalesce(l.sensitive, []) AS sensitive, coalesce(o.owners, []) AS owners,
       s.class AS see_class, r.class AS read_class, c.class AS change_class,
       s.owners AS see_owners, r.owners AS read_owners, c.owners AS change_owners,
       CASE WHEN a.type IN (SELECT type FROM ways WHERE way = 'see')
            THEN coalesce(s.users, 0) END AS see_users,
       CASE WHEN a.type IN (SELECT type FROM ways WHERE way = 'read')
            THEN coalesce(r.users, 0) END AS read_users,
       CASE WHEN a.type IN (SELECT type FROM ways WHERE way = 'change')
            THEN coalesce(c.users, 0) END AS change_users
FROM asset a
LEFT JOIN label_lists l ON l.entity = a.id
LEFT JOIN owner_lists o ON o.entity = a.id
LEFT JOIN standing s ON s.entity = a.id AND s.way = 'see'
LEFT JOIN standing r ON r.entity = a.id AND r.way = 'read'
LEFT JOIN standing c ON c.entity = a.id AND c.way = 'change'
ORDER BY a.asset;

-- class_sets
SELECT c.class::VARCHAR AS class, c.said AS reason, n.name AS people
FROM class_list c
JOIN people_list l USING (users)
JOIN people_name n USING (people)
ORDER BY ALL;

-- class_grants
SELECT g.class::VARCHAR AS class, n.principal AS holder, g.reason
FROM now_class_grant g
JOIN named n ON n.id = g.principal
WHERE g.class IN (SELECT class FROM class_list)
ORDER BY ALL;

-- holders
SELECT h.holder, u.user FROM now_holder_user h JOIN every_user u USING (user_id) ORDER BY ALL;

-- owner_sets
SELECT n.name AS owners, t.reason, t.holder, p.name AS people
FROM owner_tie t
JOIN owners_name n USING (owners)
JOIN people_name p USING (people)
ORDER BY ALL;

-- people_lists
SELECT p.name AS people, u.user
FROM now_list_person l
JOIN people_name p USING (people)
JOIN every_user u USING (user_id)
ORDER BY ALL;

-- people
SELECT u.name AS user, w.way,
       coalesce(s.assets, 0)::BIGINT AS assets, coalesce(s.sensitive, 0)::BIGINT AS sensitive,
       coalesce(s.owned, 0)::BIGINT AS through_ownership,
       CASE WHEN (SELECT logged FROM given) THEN coalesce(t.assets, 0) END AS used,
       t.last AS last_used
FROM users u
CROSS JOIN (SELECT DISTINCT way FROM ways) w
LEFT JOIN (
    SELECT n.way, p.user_id, sum(n.assets) AS assets, sum(n.sensitive) AS sensitive,
           sum(n.assets) FILTER (p.owns IS NOT NULL) AS owned
    FROM source_count n
    JOIN now_source_person p USING (source)
    GROUP BY n.way, p.user_id
) s ON s.way = w.way AND s.user_id = u.id
LEFT JOIN (
    SELECT s.way, s.user_id, count(DISTINCT s.entity) AS assets, max(s.last) AS last
    FROM used s
    JOIN now_asset_source a ON a.way = s.way AND a.entity = s.entity
    JOIN now_source_person p ON p.source = a.source AND p.user_id = s.user_id
    GROUP BY s.way, s.user_id
) t ON t.way = w.way AND t.user_id = u.id
ORDER BY u.name, w.way;

-- by_tag
SELECT g.label AS tag, g.way, u.user, sum(g.assets)::BIGINT AS assets
FROM (
    SELECT l.label, p.way, p.bundle, count(*) AS assets
    FROM labels l
    JOIN now_position p ON p.entity = l.entity
    WHERE l.kind <> 'domain' AND l.entity IN (SELECT entity FROM paired)
    GROUP BY l.label, p.way, p.bundle
) g
JOIN now_bundle_source s USING (bundle)
JOIN now_source_person p USING (source)
JOIN every_user u USING (user_id)
GROUP BY g.label, g.way, u.user
ORDER BY g.label, g.way, u.user;

-- by_owner
SELECT g.owner, g.way, u.user, sum(g.assets)::BIGINT AS assets
FROM (
    SELECT o.owner, p.way, p.bundle, count(*) AS assets
    FROM owned o
    JOIN now_position p ON p.entity = o.entity
    WHERE o.entity IN (SELECT entity FROM paired)
    GROUP BY o.owner, p.way, p.bundle
) g
JOIN now_bundle_source s USING (bundle)
JOIN now_source_person p USING (source)
JOIN every_user u USING (user_id)
GROUP BY g.owner, g.way, u.user
ORDER BY g.owner, g.way, u.user;

-- by_grant
SELECT g.way, n.principal AS through, k.statement, t.title, k.privilege, u.users, g.assets
FROM (
    SELECT c.way, k.number, sum(c.assets)::BIGINT AS assets
    FROM class_privilege k
    JOIN class_count c USING (class)
    GROUP BY c.way, k.number
) g
JOIN (
    SELECT way, number, count(*) AS users
    FROM (
        SELECT DISTINCT c.way, k.number, a.user_id
        FROM class_privilege k
        JOIN class_count c USING (class)
        JOIN acts_as a ON a.principal = k.principal
        JOIN now_class_person p ON p.class = k.class AND p.user_id = a.user_id
    )
    GROUP BY way, number
) u USING (way, number)
JOIN (SELECT DISTINCT number, principal, statement, privilege FROM class_privilege) k USING (number)
JOIN named n ON n.id = k.principal
JOIN statements t ON t.id = k.statement
UNION ALL
SELECT c.way, 'ownership', NULL, NULL, t.reason,
       count(DISTINCT l.user_id), any_value(c.assets)
FROM (
    SELECT c.way, t.reason, sum(c.assets)::BIGINT AS assets
    FROM owners_count c
    JOIN (SELECT DISTINCT owners, reason FROM owner_tie) t USING (owners)
    GROUP BY c.way, t.reason
) c
JOIN (
    SELECT DISTINCT c.way, t.reason, t.people FROM owners_count c JOIN owner_tie t USING (owners)
) t ON t.way = c.way AND t.reason = c.reason
JOIN now_list_person l USING (people)
GROUP BY c.way, t.reason
ORDER BY ALL;

-- never_used_pairs
SELECT DISTINCT b.class, p.user_id
FROM now_source_person p
JOIN now_bundle b ON b.stated = p.source;

-- never_used
SELECT u.user, n.way, coalesce(p.owns, r.reason) AS reason, sum(n.assets)::BIGINT AS assets,
       min(n.example) AS example
FROM now_source_person p
JOIN source_count n USING (source)
JOIN every_user u USING (user_id)
LEFT JOIN (SELECT DISTINCT stated, class FROM now_bundle) b ON b.stated = p.source
LEFT JOIN never_used_pairs_reason r ON r.class = b.class AND r.user_id = p.user_id
WHERE NOT EXISTS (
    SELECT 1 FROM used s
    JOIN now_asset_source a ON a.way = s.way AND a.entity = s.entity
    WHERE s.way = n.way AND s.user_id = p.user_id AND a.source = n.source)
GROUP BY u.user, n.way, coalesce(p.owns, r.reason)
ORDER BY u.user, n.way, reason;

-- toxic_pairs
SELECT DISTINCT s.class, s.user_id
FROM side_users s
JOIN toxic_user t USING (number, user_id)
WHERE s.owns IS NULL;

-- toxic
SELECT c.id AS combination, c.title, u.user,
       f.example AS first_asset, f.assets AS first_assets,
       coalesce(f.owns, fr.reason) AS first_reason,
       s.example AS second_asset, s.assets AS second_assets,
       coalesce(s.owns, sr.reason) AS second_reason
FROM toxic_user t
JOIN side_users f ON f.number = t.number AND f.user_id = t.user_id AND f.side = 'first'
JOIN side_users s ON s.number = t.number AND s.user_id = t.user_id AND s.side = 'second'
JOIN combinations c ON c.number = t.number
JOIN every_user u ON u.user_id = t.user_id
LEFT JOIN toxic_pairs_reason fr ON fr.class = f.class AND fr.user_id = f.user_id
LEFT JOIN toxic_pairs_reason sr ON sr.class = s.class AND sr.user_id = s.user_id
ORDER BY c.id, u.user;

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
       CASE WHEN change = 'gained' AND user NOT IN (SELECT user FROM earlier_people_rows)
            THEN 'joined'
            WHEN change = 'lost' AND user NOT IN (SELECT name FROM users) THEN 'left'
            WHEN NOT is_on_both AND change = 'gained' THEN 'new asset'
            WHEN NOT is_on_both THEN 'asset gone'
            ELSE 'access' END AS cause,
       way, user, reason, assets, example
FROM gains
ORDER BY ALL;

-- joiners_leavers
SELECT name AS user, 'joined' AS change FROM users
WHERE name NOT IN (SELECT user FROM earlier_people_rows)
UNION ALL
SELECT user, 'left' FROM every_user WHERE user_id < 0
ORDER BY ALL;

-- access_pairs
SELECT DISTINCT b.class, c.user_id
FROM now_position p
JOIN now_bundle b USING (bundle)
JOIN now_class_person c USING (class)
WHERE p.entity IN (SELECT entity FROM paired);

-- access
SELECT x.way, a.asset, coalesce(l.tags, []) AS tags, coalesce(l.sensitive, []) AS sensitive,
       coalesce(o.owners, []) AS owners, u.user, concat_ws('; ', c.reason, w.reason) AS reason
FROM (
    SELECT p.way, p.entity, b.class, b.owners, s.user_id
    FROM now_position p
    JOIN now_bundle b USING (bundle)
    JOIN now_bundle_source USING (bundle)
    JOIN now_source_person s USING (source)
    WHERE p.entity IN (SELECT entity FROM paired)
) x
JOIN asset a ON a.id = x.entity
JOIN every_user u USING (user_id)
LEFT JOIN access_pairs_reason c ON c.class = x.class AND c.user_id = x.user_id
LEFT JOIN (
    SELECT t.owners, n.user_id, string_agg(DISTINCT t.reason, '; ' ORDER BY t.reason) AS reason
    FROM owner_tie t
    JOIN now_list_person n USING (people)
    WHERE t.owners IN (
        SELECT b.owners
        FROM now_position p
        JOIN now_bundle b USING (bundle)
        WHERE p.entity IN (SELECT entity FROM paired))
    GROUP BY t.owners, n.user_id
) w ON w.owners = x.owners AND w.user_id = x.user_id
LEFT JOIN label_lists l ON l.entity = a.id
LEFT JOIN owner_lists o ON o.entity = a.id
ORDER BY a.asset, x.way, u.user;
