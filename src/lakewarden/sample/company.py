"""The company: its people, groups and subject areas, the same in all three systems."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

GROUPS: Final = {
    "platform": "runs the data platform",
    "stewards": "keeps names, tags and terms in order",
    "finance": "books, budgets and taxes",
    "sales": "stores and their numbers",
    "supply": "suppliers, stock and freight",
    "marketing": "campaigns and newsletters",
    "care": "customer care",
    "web": "the web shop",
    "people": "human resources",
    "science": "forecasts and recommendations",
    "audit": "internal audit",
    "interns": "nobody this year",
}
"""The twelve groups of the directory, and what each is for. `interns` has no members."""


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody of the company: log-in name, full name, job, groups."""

    name: str
    full_name: str
    title: str
    groups: tuple[str, ...]


_PEOPLE = """
abe      Abe Lindqvist       site reliability engineer   platform
alma     Alma Prentiss       event manager               marketing
ana      Ana Ortega          controller                  finance
bea      Bea Caldwell        brand manager               marketing
ben      Ben Ashworth        accountant                  finance
bruno    Bruno Keller        freight planner             supply
cid      Cid Moreau          store analyst               sales
clio     Clio Samaras        front-end developer         web
cora     Cora Whitfield      copywriter                  marketing
dario    Dario Fontana       data engineer               platform
dino     Dino Petrakis       care agent                  care
dora     Dora Novak          head of stores              sales
edda     Edda Sommer         head of data governance     stewards
ella     Ella Hartley        care agent                  care
emil     Emil Brandt         regional manager            sales
fay      Fay Whitlock        campaign manager            marketing stewards
finn     Finn Doyle          complaints handler          care
fritz    Fritz Baumann       payroll clerk               people
gina     Gina Rossetti       head of customer care       care stewards
greta    Greta Holm          search specialist           web
gus      Gus Tanner          buyer                       supply
hana     Hana Kimura         newsletter editor           marketing
henk     Henk de Wit         customs clerk               supply
hugo     Hugo Salinas        sales planner               sales
igor     Igor Petrov         warehouse manager           supply
ilse     Ilse Vandamme       care agent                  care
ines     Ines Carvalho       pricing analyst             sales
jane     Jane Thornbury      head of marketing           marketing
jon      Jon Eriksen         store manager               sales
juno     Juno Abara          care agent                  care
kai      Kai Nakamura        head of data platform       platform
kira     Kira Volkova        data scientist              science
lena     Lena Hofer          data engineer               platform
leo      Leo Marchetti       store manager               sales
maya     Maya Deshpande      store manager               sales
milo     Milo Vance          contractor
nico     Nico Ferraro        quotation clerk             sales
nora     Nora Bergstrom      finance data steward        finance stewards
olga     Olga Zielinska      treasurer                   finance
otto     Otto Gruber         tax accountant              finance
paul     Paul Renwick        internal auditor            audit
pia      Pia Lundgren        sales data steward          sales stewards
quin     Quin Harlow         head of web shop            web
rita     Rita Oduya          internal auditor            audit
rosa     Rosa Delgado        back-end developer          web
sami     Sami Haddad         back-end developer          web
sven     Sven Aalto          stock controller            supply
tara     Tara Whelan         supply data steward         supply stewards
tess     Tess Okafor         product owner               web
ugo      Ugo Bianchi         buyer                       supply
uma      Uma Krishnan        head of human resources     people
vera     Vera Sokolova       recruiter                   people
vito     Vito Esposito       head of finance             finance
wanda    Wanda Kowalski      training officer            people
will     Will Ferris         forklift trainer            supply
xenia    Xenia Papadaki      head of data science        science
yara     Yara Haddon         data scientist              science
yuri     Yuri Antonov        database administrator      platform
zeno     Zeno Marsh          machine learning engineer   science
zoe      Zoe Brightman       data engineer               platform
"""


def _person(line: str) -> Person:
    name, full_name, title = line[:9], line[9:29], line[29:57]
    return Person(name.strip(), full_name.strip(), title.strip(), tuple(line[57:].split()))


PEOPLE: Final = tuple(_person(line.ljust(57)) for line in _PEOPLE.strip().splitlines())
"""The sixty people, in order of their names. `milo` is in no group."""


def members(group: str) -> tuple[str, ...]:
    """The names of a group's members."""
    return tuple(person.name for person in PEOPLE if group in person.groups)


@dataclass(frozen=True, slots=True)
class Area:
    """A subject area: the group it belongs to, who loads its data, who vouches for it."""

    name: str
    group: str
    engineer: str
    steward: str
    domain: str
    tables: tuple[str, ...]


def _area(name: str, group: str, engineer: str, steward: str, domain: str, tables: str) -> Area:
    return Area(name, group, engineer, steward, domain, tuple(tables.split()))


AREAS: Final = (
    _area(
        "sales", "sales", "lena", "pia", "stores",
        "orders order_lines returns refunds baskets discounts price_lists promotions stores"
        " store_hours tills receipts gift_cards vouchers targets commissions quotes footfall"
        " shifts forecasts",
    ),
    _area(
        "supply", "supply", "dario", "tara", "supply",
        "suppliers purchase_orders deliveries warehouses bins stock stock_moves pallets carriers"
        " shipments customs_forms returns_in reorder_points lead_times agreements quality_checks"
        " recalls sea_freight freight_costs outlooks",
    ),
    _area(
        "finance", "finance", "zoe", "nora", "finance",
        "ledger accounts journals invoices payments budgets cost_centres vat assets depreciation"
        " cash_flow bank_statements loans leases accruals intercompany exchange_rates findings"
        " expenses tax_returns",
    ),
    _area(
        "customers", "care", "lena", "gina", "customers",
        "profiles addresses contacts consents segments complaints members households points tiers"
        " birthdays preferences satisfaction blocked merges cards refund_requests chats calls"
        " tickets",
    ),
    _area(
        "marketing", "marketing", "zoe", "fay", "marketing",
        "campaigns newsletters ad_spend impressions clicks audiences coupons leaflets sponsors"
        " fairs posts influencers opinions landing_pages spend_plans channels brand_tracking press"
        " photos split_tests",
    ),
    _area(
        "web", "web", "dario", "pia", "online",
        "sessions page_views searches carts checkouts errors experiments recommendations"
        " wish_lists reviews redirects cookies uploads devices referrers banners load_times bots"
        " forms logins",
    ),
    _area(
        "people", "people", "zoe", "edda", "people",
        "employees salaries absences positions applicants interviews trainings appraisals bonuses"
        " pensions rotas leavers work_contracts sick_notes claims equipment badges next_of_kin"
        " unions staff_surveys",
    ),
    _area(
        "reference", "stewards", "dario", "edda", "reference",
        "products brands categories colours units countries regions currencies calendars"
        " store_map supplier_map barcodes materials sizes seasons tax_codes plants pots tools"
        " packaging",
    ),
)  # fmt: skip
"""The subject areas: each is a schema of the lake, and another with its daily figures."""

SHOP: Final = {
    "orders": AREAS[0].tables,
    "visits": AREAS[5].tables,
    "payments": (
        "card_payments",
        "bank_transfers",
        "refunds",
        "chargebacks",
        "fees",
        "settlements",
        "disputes",
        "wallets",
        "gift_payments",
        "instalments",
        "providers",
        "fraud_checks",
    ),
}
"""The web shop's own database: its schemas and their tables."""

TOPICS: Final = tuple(
    f"{subject}_{event}"
    for subject in ("order", "basket", "payment", "parcel", "customer", "stock", "price", "visit")
    for event in ("created", "changed", "closed")
)
"""What is streamed."""

PERSONAL: Final = frozenset(
    (
        *("profiles", "addresses", "contacts", "consents", "members", "households"),
        *("birthdays", "cards", "chats", "calls", "employees", "salaries", "applicants"),
        *("appraisals", "bonuses", "pensions", "sick_notes", "next_of_kin"),
    )
)
"""Tables with personal data."""

COLUMNS: Final = {
    "orders": "order_id customer_id store_id ordered_at total currency",
    "invoices": "invoice_id supplier_id issued_on due_on amount vat_code",
    "profiles": "customer_id full_name email phone born_on member_since",
    "contacts": "contact_id customer_id channel value verified_at",
    "addresses": "address_id customer_id street city postcode country",
    "salaries": "employee_id valid_from gross currency grade",
    "employees": "employee_id full_name hired_on position manager_id",
    "stock": "warehouse_id product_id quantity counted_at",
    "shipments": "shipment_id carrier_id left_on arrived_on cost",
    "campaigns": "campaign_id title starts_on ends_on spend",
    "page_views": "session_id url viewed_at duration referrer",
    "products": "product_id name brand category weight price",
    "ledger": "entry_id account booked_on debit credit text",
    "payments": "payment_id invoice_id paid_on amount iban",
    "tickets": "ticket_id customer_id opened_at subject state",
    "forecasts": "week store_id product_id expected lower upper",
}
"""Columns of the tables that are described down to the column."""

PERSONAL_COLUMNS: Final = frozenset(
    ("full_name", "email", "phone", "born_on", "value", "street", "postcode", "gross", "iban")
)
"""Columns with personal data."""
