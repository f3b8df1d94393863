-- The rows of `${change}` with their reasons.
INSERT INTO gains
SELECT '${change}', g.way, u.user, coalesce(p.owns, r.reason), g.is_on_both,
       sum(g.more)::BIGINT, min(coalesce(x.example, g.example))
FROM ${change} g
JOIN every_user u USING (user_id)
JOIN ${side}_source_person p ON p.source = g.source AND p.user_id = g.user_id
LEFT JOIN (SELECT DISTINCT stated, class FROM ${side}_bundle) b ON b.stated = g.source
LEFT JOIN ${change}_pairs_reason r ON r.class = b.class AND r.user_id = g.user_id
LEFT JOIN ${change}_example x
  ON x.way = g.way AND x.source = g.source AND x.stated = g.stated AND x.mainly = g.mainly
 AND x.user_id = g.user_id
GROUP BY g.way, u.user, coalesce(p.owns, r.reason), g.is_on_both;
