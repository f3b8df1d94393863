-- Who has access on one side and not on the other: `now` and `earlier`, or the other way round.
SELECT '$change' AS change, way, user, reason, is_on_both, sum(assets)::BIGINT AS assets, min(example) AS example
FROM (
    SELECT s.way, s.user, s.reason, s.is_on_both, s.assets - coalesce(o.assets, 0) AS assets,
           s.example
    FROM (
        SELECT m.*, u.user, u.reason
        FROM move m
        JOIN $now_users u ON u.class = m.$now_class
        WHERE NOT EXISTS (
            SELECT 1 FROM $earlier_users e
            WHERE e.class = m.$earlier_class AND e.user = u.user)
    ) s
    LEFT JOIN (
        SELECT p.way, p.now_class, p.earlier_class, p.is_on_both, e.user, count(*) AS assets
        FROM $earlier_owner e
        JOIN place p ON p.asset = e.asset AND p.way = e.way
        GROUP BY p.way, p.now_class, p.earlier_class, p.is_on_both, e.user
    ) o ON o.way = s.way AND o.user = s.user AND o.is_on_both = s.is_on_both
       AND o.now_class IS NOT DISTINCT FROM s.now_class
       AND o.earlier_class IS NOT DISTINCT FROM s.earlier_class
    UNION ALL
    SELECT n.way, n.user, n.reason, p.is_on_both, 1, n.asset
    FROM $now_owner n
    JOIN place p ON p.asset = n.asset AND p.way = n.way
    WHERE NOT EXISTS (
        SELECT 1 FROM $earlier_users e
        WHERE e.class = p.$earlier_class AND e.user = n.user)
      AND NOT EXISTS (
        SELECT 1 FROM $earlier_owner e
        WHERE e.way = n.way AND e.asset = n.asset AND e.user = n.user)
)
WHERE assets > 0
GROUP BY way, user, reason, is_on_both
