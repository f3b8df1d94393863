"""A Ranger admin that is there already, told through its public REST.

`wanted` says what it should hold, made by the planner of the documents that plugins download
(`service.ranger`); `state` reads what it holds of ours, `order` puts the requests between in an
order that never opens more, `admin` sends them, and `session` is the target of a push.
"""
