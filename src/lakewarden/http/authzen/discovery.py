"""The addresses of the endpoints: GET /.well-known/authzen-configuration.

With a realm's path behind it (`…/r/NAME`), or below that path, the endpoints are those of the
realm. The document is made from the address and the settings alone, so it does not reveal which
realms exist. Besides the standard's members it contains the most questions of a batch
(`evaluations_limit`) and the most results of a page (`search_page_limit`).
"""

from __future__ import annotations

from typing import Final

import msgspec

from lakewarden.http.exchange import Exchange, Reply
from lakewarden.service.realm import CONTROL, check_realm_name

WELL_KNOWN: Final = "/.well-known/authzen-configuration"
EVALUATION: Final = "/access/v1/evaluation"
EVALUATIONS: Final = "/access/v1/evaluations"
SUBJECTS: Final = "/access/v1/search/subject"
RESOURCES: Final = "/access/v1/search/resource"
ACTIONS: Final = "/access/v1/search/action"


def configuration(exchange: Exchange) -> Reply:
    """The metadata of the decision point at the top, or of one realm's. Raises `BadInput`."""
    realm = exchange.params.get("realm")
    if realm is None and exchange.realm != CONTROL:
        realm = exchange.realm
    base = exchange.services.public_url
    if realm is not None:
        base += f"/r/{realm if realm == CONTROL else check_realm_name(realm)}"
    document: dict[str, object] = {
        "policy_decision_point": base,
        "access_evaluation_endpoint": base + EVALUATION,
        "access_evaluations_endpoint": base + EVALUATIONS,
        "search_subject_endpoint": base + SUBJECTS,
        "search_resource_endpoint": base + RESOURCES,
        "search_action_endpoint": base + ACTIONS,
        "evaluations_limit": exchange.services.batch_rows,
        "search_page_limit": exchange.services.page_rows,
    }
    return Reply(200, msgspec.json.encode(document))
