"""What a suite says of itself: its files, its settings, its gates. Everything else about them is derived from this.

Flags of the command line, keys of a policy, keywords of Python, roles in a receipt, the guard of inputs, `doctor`,
`explain` and the reference pages all read these declarations; nothing is listed a second time. Declarations load no
decoder and no measuring code, so that `--help` stays quick.
"""

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from ragworthy.names import REFUSAL, REFUSAL_PACKS

if TYPE_CHECKING:
    from ragworthy.gates import Gate
    from ragworthy.metrics.registry import Metric

Form = Literal["records", "corpus", "file", "files", "output", "outputs"]
"""How a file is read: line by line, as an index or its chunks, by code of its own, several of those; or that it, or
several, are written besides the report."""


class Input(NamedTuple):
    """A file (or several) that a suite reads, or writes besides its report."""

    key: str
    """Its name in a policy and in Python."""
    meaning: str
    """What the page of policy keys says; empty for an input that a policy does not have."""
    help: str
    """What `--help` says; empty where only other code gives it."""
    role: str = ""
    """Its name in receipts; the key where nothing else is said."""
    flag: str = ""
    """Its flag; made from the key where nothing else is said."""
    form: Form = "records"
    needed: bool = False
    shown: str = ""
    """Its name among the inputs of a report; the role where nothing else is said."""
    aliases: tuple[str, ...] = ()
    """Other names that Python takes."""
    of_run: bool = False
    """Whether `ragworthy run` writes it, so that it can be out of date."""
    record: str = ""
    """The type of its records in `records.py`, where it is read line by line."""
    schema: str = ""
    """The name under which `explain schema` prints that type."""
    suffixes: tuple[str, ...] = ()
    """The suffixes that an output must have; any where none is named."""
    called: str = ""
    """What messages call an output that a policy can name."""
    begins: bytes = b""
    """How such an output begins. A policy may come from somebody else: it replaces nothing that begins otherwise."""
    more: str = ""
    """The input that takes all but the first, where several files can be given: each is a run of the same questions."""

    @property
    def receipt_role(self) -> str:
        """Its name in receipts."""
        return self.role or self.key

    @property
    def report_role(self) -> str:
        """Its name among the inputs of a report."""
        return self.shown or self.receipt_role

    @property
    def written(self) -> bool:
        """Whether it is written, not read: `Extra.files` says under the same key what is in it."""
        return self.form in ("output", "outputs")

    @property
    def several(self) -> bool:
        """Whether there can be more than one file."""
        return self.form in ("files", "outputs")

    @property
    def option(self) -> str:
        """Its flag."""
        return self.flag or f"--{self.key.replace('_', '-')}"


class Key(NamedTuple):
    """What is beside a setting: `Annotated[str, Key(...)]`. The type says how it is read."""

    meaning: str
    """What the page of policy keys says; empty for a setting that a policy does not have."""
    flag: str = ""
    """Its flag, or several spellings of it with a blank between; none where it is empty."""
    help: str = ""
    metavar: str = ""
    name: str = ""
    """Its key in a policy and in Python, where the field has another name."""
    choices: tuple[str, ...] = ()
    reads: Literal["", "ks", "limits", "positive", "refusals", "share", "packs", "starts", "patterns"] = ""
    """How it is read, where the type does not say: depths, limits by name, a number above 0, texts of refusals, a share
    from 0 to below 1, names of refusal packs, beginnings, regular expressions."""
    python: bool = True
    """Whether Python takes it."""
    reference: str = ""
    """Its default under the profile reference, where that is another one."""
    quiet: bool = False
    """Whether a report names it only where it is set, so that reports made before it was there stay comparable."""
    told: bool = True
    """Whether a report names it among the settings that two runs must share to be compared."""


class Setting(NamedTuple):
    """One field of the settings of a suite, with what its declaration says."""

    field: str
    kind: Any
    """The type of its values."""
    default: Any
    key: Key

    @property
    def name(self) -> str:
        """Its key in a policy and in Python."""
        return self.key.name or self.field


class Declared(NamedTuple):
    """A suite as far as it can be known without loading it."""

    name: str
    summary: str
    """What `--help` says of the suite."""
    package: str
    """Where the rest of it is: `rules` has its gates and what files must hold, `suite` the code that reads and
    measures."""
    inputs: tuple[Input, ...]
    settings: type[Any]
    """A NamedTuple whose fields are `Annotated` with a `Key`."""
    example: str = ""
    """Gates as `--help` shows them."""
    default_k: int | None = 1
    """The k of a metric whose gate says `@k`; None for the first one of the settings."""
    flags: tuple[str, ...] = ()
    """The order of flags in `--help`; those that are not named come last."""
    forms: Mapping[str, tuple[str, ...]] = {}
    """Which files belong together, by the setting `form`, where there is a choice."""
    beside: Mapping[str, tuple[str, ...]] = {}
    """Files that may be beside those of a form, and beside no other that does not name them."""
    items: str = "show one question with everything known of it instead of the report (repeatable)"
    """What `--help` says of `--item`; empty in a suite that cannot show single items (`Suite.items`)."""
    program: str = ""
    """The program of the sources that the profile reference is made after; `--profile` takes its name too."""
    page: str = ""
    """The page that has it."""
    tools: Mapping[str, str] = {}
    """Other programs of that page, each with the command that does its work."""
    plugin: Any = None
    """The package it comes from, where that is not this one."""

    def load(self) -> Any:
        """The suite itself, a `Suite` of `suites/protocol.py`: declarations are below what they declare."""
        with self.named():
            return self._module("suite").SUITE

    def named(self) -> AbstractContextManager[None]:
        """What goes wrong in a suite of another package is an error with its name, and no defect of ours."""
        if self.plugin is None:
            return nullcontext()
        from ragworthy.load.plugins import named

        return named(f"{self.plugin.name} ({self.plugin.package} {self.plugin.version})", "failed")

    def _module(self, name: str) -> ModuleType:
        """A module of the suite's folder; a suite that is a single file has everything in it."""
        whole = import_module(self.package)
        return import_module(f"{self.package}.{name}") if hasattr(whole, "__path__") else whole

    def default_gates(self, settings: Any, given: Mapping[str, Any]) -> "tuple[Gate, ...]":
        """What holds when nobody says otherwise, by the settings and the files that are given."""
        from ragworthy.gates import with_evidence

        with self.named():
            gates: tuple[Gate, ...] = self._module("rules").default_gates(settings, given)
        return tuple(with_evidence(gate, gate.evidence) for gate in gates)

    @property
    def regression(self) -> "tuple[Gate, ...]":
        """The usual rules against a baseline."""
        from ragworthy.gates import with_evidence

        with self.named():
            gates: tuple[Gate, ...] = self._module("rules").REGRESSION
        return tuple(with_evidence(gate, gate.evidence) for gate in gates)

    def metrics_of(self, given: Mapping[str, Any]) -> "Mapping[str, Metric] | None":
        """The metrics that gates may name because a file of the suite defines them; None where no file does.

        A suite that has such files has a function `metrics_of` among its rules.
        """
        with self.named():
            defines = getattr(self._module("rules"), "metrics_of", None)
            found: Mapping[str, Metric] | None = defines(given) if defines is not None else None
        return found

    def check(self, given: Mapping[str, Any], spelled: Mapping[str, str]) -> None:
        """Refuse files and settings that do not belong together, named as the caller spells them.

        A suite that has such files has a function `check_given` among its rules.
        """
        with self.named():
            refuse = getattr(self._module("rules"), "check_given", None)
            if refuse is not None:
                refuse(given, spelled)

    def is_program(self, name: str) -> bool:
        """Whether a name is that of the program of the sources, with or without its folder and its suffix.

        >>> from ragworthy.suites import SUITES
        >>> [SUITES["answers"].is_program(one) for one in ("ProblemMap/eval/score_eval.py", "score_eval", "score")]
        [True, True, False]
        """
        last = name.replace("\\", "/").rpartition("/")[2]
        return bool(self.program) and last in (self.program, self.program.removesuffix(".py"))

    def profile_named(self, name: str) -> str:
        """A profile by its name, or by that of the program that it is made after."""
        return "reference" if self.is_program(name) else name

    def of_profile(self, profile: str) -> dict[str, Any]:
        """The settings whose default follows from the profile."""
        follows = profile == "reference" and "profile" in self.settings._fields
        return {one.field: one.key.reference for one in self.fields() if follows and one.key.reference}

    def fields(self) -> Iterator[Setting]:
        """Every setting, in the order of the policy's page."""
        defaults = self.settings._field_defaults
        for field, kind in self.settings.__annotations__.items():
            yield Setting(field, kind.__origin__, defaults[field], kind.__metadata__[0])

    def inputs_of(self, settings: Any) -> tuple[Input, ...]:
        """The inputs that can be there under some settings."""
        if not self.forms:
            return self.inputs
        mine = (*self.forms[settings.form], *self.beside.get(settings.form, ()))
        return tuple(one for one in self.inputs if one.key in mine or one.key not in self._of_forms)

    @property
    def _of_forms(self) -> frozenset[str]:
        """The files that belong to some form."""
        return frozenset(key for files in (self.forms, self.beside) for keys in files.values() for key in keys)

    def form_of(self, given: Mapping[str, Any]) -> str | None:
        """The form that these files are, by the keys of those that are there; None for none or for a mixture.

        >>> from ragworthy.suites import SUITES
        >>> form_of = SUITES["agreement"].form_of
        >>> form_of({"scholar": "s.jsonl", "auditor": "a.jsonl"}), form_of({"pairs": "p.jsonl", "raters": "r.jsonl"})
        ('files', None)
        """
        there = {key for key in self._of_forms if given.get(key) is not None}
        fits = (form for form, keys in self.forms.items() if set(keys) <= there <= {*keys, *self.beside.get(form, ())})
        return next(fits, None)

    def k_of(self, settings: Any) -> int:
        """The k of a metric whose gate says `@k`."""
        return self.default_k if self.default_k is not None else int(settings.ks[0])

    def depths(self, settings: Any) -> dict[str, tuple[int, ...]]:
        """Every k of its settings, under its name."""
        return {self.name: tuple(getattr(settings, "ks", ()))}

    def required(self, one: Input) -> bool:
        """Whether an input must be there: it is needed, and no other can be in its place."""
        others = [other for other in self.inputs if other.receipt_role == one.receipt_role and not other.several]
        return one.needed and len(others) == 1

    @property
    def written(self) -> frozenset[str]:
        """The keys of what it writes besides a report."""
        return frozenset(one.key for one in self.inputs if one.written)

    def by_role(self, role: str) -> Input | None:
        """The first input with this name in receipts."""
        return next((one for one in self.inputs if one.receipt_role == role), None)


# settings that several suites have

REFUSALS = (REFUSAL,)

SHORT = Key(
    '"word" (entries under 5 characters count as whole words) or "reject" (they never count); default "word"',
    flag="--short-substr",
    help="entries under 5 characters: as whole words (default), or not at all",
    choices=("reject", "word"),
    reference="reject",
)
REFUSED = Key(
    "texts that count as a refusal (trimmed, any case)",
    flag="--refusal",
    help="another refusal text (repeatable)",
    metavar="TEXT",
    reads="refusals",
)
REFUSAL_PACK = Key(
    f"languages in which refusals are known by rule: {', '.join(REFUSAL_PACKS)}; default none",
    flag="--refusal-pack",
    help="know refusals of a language by rule, e.g. en (repeatable)",
    metavar="LANGUAGE",
    reads="packs",
    quiet=True,
)
REFUSAL_START = Key(
    "beginnings of refusals (any case)",
    flag="--refusal-start",
    help="a claim that begins so is a refusal (repeatable)",
    metavar="TEXT",
    reads="starts",
    quiet=True,
)
REFUSAL_PATTERN = Key(
    "regular expressions: a claim in which one is found is a refusal (any case)",
    flag="--refusal-pattern",
    help="a claim in which this is found is a refusal (repeatable)",
    metavar="REGEX",
    reads="patterns",
    quiet=True,
)
SCU = Key(
    "whether locked constraints are checked",
    flag="--scu-enforced --scu_enforced",
    help="check locked constraints",
)
RULE_PACKS = Key(
    'contradiction rules: names of bundled packs or paths; "none" for no rule at all',
    flag="--rule-pack",
    help="contradiction rules (repeatable); none: no rule",
    metavar="NAME",
)
"""Which rules say that a claim contradicts a locked constraint, where constraints are checked."""
SLICES = Key(
    "gold fields to split the numbers by",
    flag="--slice",
    help="split by a gold field (repeatable)",
    metavar="FIELD",
)
PROFILE = Key("", choices=("default", "reference"), python=False, told=False)
"""What `--profile` says, in suites that follow the sources' own program themselves."""
ANSWERS_GOLD = Input(
    "gold",
    "path of the gold set of the answers",
    "the gold set of the answers",
    needed=True,
    record="Gold",
    schema="gold.answers",
)
"""What suites ask that judge several runs of the same answers."""
