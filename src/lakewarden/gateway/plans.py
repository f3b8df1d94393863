"""Turns the plans that a user wants to execute or analyze into those that Spark may get."""

from __future__ import annotations

from collections.abc import Callable

from google.protobuf.message import Message
from pyspark.sql.connect.proto import base_pb2 as base
from pyspark.sql.connect.proto import commands_pb2 as commands
from pyspark.sql.connect.proto import relations_pb2 as relations

from lakewarden.expressions.statement import Describe
from lakewarden.gateway import identifiers
from lakewarden.gateway.access import Access, Name
from lakewarden.gateway.analysis import check_analyzed, pieces
from lakewarden.gateway.catalog_calls import CatalogCalls
from lakewarden.gateway.compressed import decompress
from lakewarden.gateway.errors import Denied
from lakewarden.gateway.following import SCHEMA, CatalogChange
from lakewarden.gateway.listings import Listings, RowsOf, read_show
from lakewarden.gateway.plan_enforcer import Columns, PlanEnforcer
from lakewarden.gateway.resolver import Resolver, renumbered
from lakewarden.gateway.session import NewView, Session
from lakewarden.gateway.sql import nothing, used_database
from lakewarden.gateway.statements import Statements, read
from lakewarden.gateway.writes import check_merge, check_write

_SHOWS_PLANS = ("explain", "tree_string")


class Plans:
    """Checks, completes and limits the plans of one call, in place."""

    def __init__(
        self,
        session: Session,
        access: Access,
        columns_of: Callable[[Name], Columns],
        rows_of: RowsOf,
    ) -> None:
        self._session = session
        self._access = access
        self._resolver = Resolver(session, access.user)
        self._enforcer = PlanEnforcer(access, columns_of)
        self._listings = Listings(session, access, rows_of, columns_of)
        self._rows_of = rows_of
        self.new_view: NewView | None = None
        self.answer: relations.Relation | None = None
        self.done: CatalogChange | None = None

    def execute(self, request: base.ExecutePlanRequest) -> None:
        """Makes the request one that may be executed. Raises `Denied` and `Malformed`."""
        decompress(request)
        match request.plan.WhichOneof("op_type"):
            case "root" if request.plan.root.HasField("catalog"):
                calls = CatalogCalls(self._session, self._access)
                request.plan.root.CopyFrom(calls.answered(request.plan.root))
            case "root":
                self._limit(request.plan.root)
            case "command":
                self._command(request.plan.command)
            case _:
                raise Denied("a plan of no kind is not permitted")

    def check_analyzed(
        self, request: base.ExecutePlanRequest, explained: Callable[[relations.Relation], str]
    ) -> None:
        """Checks the limited request against Spark's analysis of its reads. Raises `Denied`."""
        reads = self._enforcer.reads
        if not reads:
            return
        command = request.plan.command
        plans: list[Message] = [request.plan]
        if command.HasField("sql_command") and self.answer is None:
            # Spark would execute a statement that is no query. All its reads are attached to it.
            plans = list(command.sql_command.input.with_relations.references)
        for piece in (piece for plan in plans for piece in pieces(plan)):
            check_analyzed(explained(piece), reads)

    def analyze(self, request: base.AnalyzePlanRequest) -> None:
        """Makes the request one that may be analyzed. Raises `Denied` and `Malformed`."""
        decompress(request)
        kind = request.WhichOneof("analyze")
        if kind is None:
            raise Denied("an analysis of no kind is not permitted")
        asked: Message = getattr(request, kind)
        for plan in (part for part in _plans(asked) if not part.HasField("root")):
            raise Denied(f"`{plan.WhichOneof('op_type')}` cannot be analyzed")
        self._limit(asked)
        if kind in _SHOWS_PLANS and self._enforcer.is_limiting:
            raise Denied("a plan with row filters or column masks is not shown")

    def _command(self, command: commands.Command) -> None:
        match command.WhichOneof("command_type"):
            case "write_operation" | "write_operation_v2":
                self.done = check_write(command, self._session, self._access, self._exists)
                self._limit(command)
            case "merge_into_table_command":
                self._merge(command.merge_into_table_command)
            case "create_dataframe_view":
                self._create_view(command.create_dataframe_view)
            case "ml_command":
                pass
            case "sql_command":
                self._statement(command.sql_command)
            case _:
                raise Denied("this command is not permitted")

    def _statement(self, command: commands.SqlCommand) -> None:
        """Spark responds to a query with its plan; users get the plan that they sent.

        For other statements, Spark gets another text, and for a list nothing: users get its rows.
        """
        sql = command.input.sql
        if not command.input.HasField("sql"):
            self._query(command)
            return
        database, show = used_database(sql.query), read_show(sql.query)
        if database is not None:
            CatalogCalls(self._session, self._access).use(identifiers.split(database))
            command.input.CopyFrom(nothing())
        elif show is not None:
            self.answer = self._listings.shown(show)
            command.input.CopyFrom(nothing())
        else:
            self._other_statement(command)

    def _other_statement(self, command: commands.SqlCommand) -> None:
        sql = command.input.sql
        statement = read(sql.query)
        if statement is None:
            self._query(command)
            return
        if sql.args or sql.pos_args or sql.named_arguments or sql.pos_arguments:
            raise Denied("SQL with parameters is not permitted")
        statements = Statements(
            self._session, self._access, self._resolver, self._enforcer, self._exists
        )
        if isinstance(statement, Describe):
            self.answer = self._listings.described(statements.name(statement.table))
            command.input.CopyFrom(nothing())
            return
        command.input.CopyFrom(statements.rewritten(statement))
        self.new_view = statements.new_view
        self.done = statements.done if self._access.follows else None
        if self.new_view is not None:
            self.answer = nothing()

    def _exists(self, kind: str, name: Name) -> bool:
        """Whether the object exists in Spark now."""
        plan = relations.Relation()
        if kind == SCHEMA:
            plan.catalog.database_exists.db_name = identifiers.join(name)
        else:
            plan.catalog.table_exists.table_name = identifiers.join(name)
        return any(value for row in self._rows_of(plan) for value in row.values())

    def _merge(self, merge: commands.MergeIntoTableCommand) -> None:
        for part in check_merge(merge, self._session, self._access):
            self._resolver.resolve(part)
        self._enforcer.enforce(merge)

    def _query(self, command: commands.SqlCommand) -> None:
        self.answer = relations.Relation()
        self.answer.CopyFrom(command.input)
        self._limit(command.input)

    def _create_view(self, command: commands.CreateDataFrameViewCommand) -> None:
        names = identifiers.split(command.name)
        if len(names) != 1:
            raise Denied("a name of a temporary view has one part")
        (name,) = names
        if self._access.sees(self._session.qualified(names)):
            raise Denied(f"`{name}` is a table of the current database")
        command.name = identifiers.join(names)
        self._resolver.resolve(command.input)
        self.new_view = NewView(name, renumbered(command.input))
        self._enforcer.enforce(command.input)

    def _limit(self, plan: Message) -> None:
        self._resolver.resolve(plan)
        self._enforcer.enforce(plan)


def _plans(asked: Message) -> list[base.Plan]:
    return [value for _, value in asked.ListFields() if isinstance(value, base.Plan)]
