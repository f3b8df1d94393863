"""OpenID AuthZEN Authorization API 1.0: evaluation, evaluations, the three searches, discovery.

Source: openid/authzen, `api/authorization-api-1_0.md` at e287920eed84. What our names mean in
its words is in `question` (the members that are read), `naming` (which realm and entity),
`sent` (what comes along with a question) and `asker` (who may ask about whom).
"""
