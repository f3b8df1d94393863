"""OpenID AuthZEN Authorization API 1.0: evaluation, evaluations, the three searches, discovery.

Source: openid/authzen, `api/authorization-api-1_0.md` at e287920eed84. How its terms map to our
names is described in `question` (the members that are read), `name_resolution` (which realm and
entity), `request_context` (additional parts of a question) and `caller` (who may ask about whom).
"""
