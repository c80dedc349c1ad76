"""The settings that two runs must share before they can be compared, as reports have them."""

from ragworthy.policy.declare import Declared, Setting
from ragworthy.suites.evidence import Evidence
from ragworthy.suites.request import Request


def with_settings(declared: Declared, request: Request, evidence: Evidence) -> Evidence:
    """The evidence with every setting that two runs must share."""
    unsaid = {
        one.name: getattr(request.settings, one.field)
        for one in declared.fields()
        if one.key.told and one.name not in evidence.settings and not _unset(one, request)
    }
    plain = {name: list(value) if isinstance(value, tuple) else value for name, value in unsaid.items()}
    if packs := plain.get("refusal_packs"):
        from ragworthy.load.refusal_packs import told

        plain["refusal_packs"] = told(tuple(packs))
    return evidence._replace(settings=evidence.settings | plain)


def _unset(one: Setting, request: Request) -> bool:
    """Whether a setting is not worth a word: nobody set it, and earlier reports do not have it."""
    return one.key.quiet and getattr(request.settings, one.field) == one.default
