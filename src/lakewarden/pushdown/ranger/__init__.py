"""An existing Ranger admin as a target, through its public REST API.

`desired_state` computes the policies and roles that it should hold, with the planner of the
documents that plugins download (`service.ranger`); `state` reads our current ones, `order` sorts
the requests so that none opens more, `admin` sends them, and `session` is the target of a push.
"""
