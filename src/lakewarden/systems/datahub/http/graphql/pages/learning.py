"""Links to the evaluation results of a model. SOURCE: records of acryl-datahub 1.7.0.17."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from lakewarden.systems.datahub.http.graphql.aspect_record import Record
from lakewarden.systems.datahub.http.graphql.resolving import Info, Resolvers


def _place(analyses: Record, info: Info) -> Mapping[str, str] | None:
    text = analyses.text(info.field_name)
    return None if text is None else {"__typename": "StringBox", "stringValue": text}


RESOLVERS: Final[Resolvers] = {
    "QuantitativeAnalyses": {"unitaryResults": _place, "intersectionalResults": _place},
}
