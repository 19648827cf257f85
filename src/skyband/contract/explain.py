"""Asking an engine why: `explain` for one publication and one subscription, `preview` for what is not subscribed yet.

Neither changes anything. What is to be said of a family's answers, its `Explainer` says, the module `explain` of its
room; an engine only gives the evidence: what it knows at the time, and what it keeps of it.
"""

from abc import ABC, abstractmethod
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np
import pyarrow as pa

from skyband.contract.checked import Given
from skyband.contract.explanation import Explanation
from skyband.contract.family import FAMILIES, Family, names_where
from skyband.contract.intake import Ids, Intake, answer_to_rows
from skyband.contract.rows import take
from skyband.contract.tops import Id
from skyband.kernels.id_list import INTEGERS, arrow_ids
from skyband.table import Rejected, match_schema, ranking_schema, shorten
from skyband.table.argument import is_integer, is_unicode
from skyband.table.sieve import Parsed

EvidenceT = TypeVar("EvidenceT")


class Explainer(ABC, Generic[EvidenceT]):
    """What a family has to say of its answers, from what an engine knows about one subscription."""

    @abstractmethod
    def explain(self, evidence: EvidenceT, publication: Any) -> Explanation:
        """Why this publication is in the top, or why not: its id, or the row itself where nothing stays."""

    @abstractmethod
    def preview(self, evidence: EvidenceT, publications: Any) -> list[dict[str, Any]]:
        """Rows of the answer, without the subscription; `publications` are rows, where nothing stays."""


class Explained(Intake):
    """What can be asked about an answer besides the answer itself."""

    family: ClassVar[str]

    def explain(self, subscription: Id, publication: Any) -> Explanation:
        """Why a publication is in the top of a subscription, or why not and by how much; changes nothing.

        The publication is an id (of ranges, an object); of ranked, which keeps no events, it is the event, as a row.
        """
        family, explainer = FAMILIES[self.family], self._explainer()
        asked = self._question_rows(self._one_known(subscription))
        named = self._one_published(family, publication) if family.answers_stand else self._events(family, publication)
        return explainer.explain(self._evidence(asked), named)

    def preview(self, subscriptions: Given, publications: "Given | None" = None) -> Any:
        """The tops that subscriptions would have, from what is live now; registers nothing and changes nothing.

        Of ranked, which keeps no events, they are given as `publications`, and answered with the matches among them.
        Each subscription is held against the others alone that are registered; one of the same id is replaced.
        """
        family, explainer = FAMILIES[self.family], self._explainer()
        if (publications is None) != family.answers_stand:
            raise _given_in_vain(family)
        events = None if publications is None else self._events(family, publications, None)
        rows = self._good(self._parse(subscriptions, family.parse_subscriptions), "subscriptions")
        if len(rows.ids):
            self._same_type("subscriptions id", arrow_ids(rows.ids).type)
        found: list[dict[str, Any]] = []
        for i, id in enumerate(arrow_ids(rows.ids).to_pylist()):
            evidence = self._evidence(take(rows, np.array([i])))
            found += [{"subscription": id} | row for row in explainer.preview(evidence, events)]
        return answer_to_rows(subscriptions, pa.Table.from_pylist(found, self._preview_schema(family, rows, events)))

    def _question_rows(self, ids: pa.Array) -> Any:
        """What registered subscriptions ask for, as rows of the family."""
        raise self._no_evidence()

    def _evidence(self, asked: Any) -> Any:
        """What is known now that bears on a subscription, given as one row, which may be registered or not."""
        raise self._no_evidence()

    def _no_evidence(self) -> ValueError:
        return ValueError(f"The {self._kind} has nothing to explain its answers by.")

    def _explainer(self) -> Explainer[Any]:
        explainer: Explainer[Any] | None = FAMILIES[self.family].explainer
        if explainer is None:
            with_one = " and ".join(names_where(lambda family: family.explainer))
            raise ValueError(f"Answers of the family {self.family} are not explained; those of {with_one} are.")
        return explainer

    def _one_known(self, subscription: Ids) -> pa.Array:
        known = arrow_ids(self._known(subscription, collect=False))
        if len(known) != 1:
            raise ValueError(f"One subscription is explained at a time, not {len(known)}.")
        return known

    def _one_published(self, family: Family, publication: Any) -> Id:
        """The id of a publication, or of an object, which need not be known but has to be of the type of the others."""
        noun = "object" if family.has_objects else "publication"
        given = publication.as_py() if isinstance(publication, pa.Scalar) else publication
        if not is_integer(given) and not (isinstance(given, str) and is_unicode(given)):
            raise ValueError(f"The {noun} is named by its id, an integer or a text, not {shorten(given)}.")
        kind = self._id_types.get("publications object" if family.has_objects else "publications id")
        if kind is not None and (kind == INTEGERS) != is_integer(given):
            words = "integers" if kind == INTEGERS else "text"
            raise ValueError(f"The ids of {noun}s are {words} here, and {shorten(given)} is not.")
        return int(given) if is_integer(given) else str(given)

    def _events(self, family: Family, publications: Given, n: int | None = 1) -> Any:
        """Publications of a family that keeps none, as rows; exactly n of them, unless n is None."""
        assert family.parse_publications is not None
        if is_integer(publications) or (n is not None and isinstance(publications, str)):
            raise ValueError(
                f"The family {family.name} keeps no publications, so that {shorten(publications)} cannot be looked up: "
                "give the publication itself, as a row."
            )
        rows = self._good(self._parse(publications, family.parse_publications), "publications")
        if n is not None and len(rows.ids) != n:
            raise ValueError(f"One publication is explained at a time, not {len(rows.ids)}.")
        return rows

    def _good(self, parsed: Parsed[Any], what: str) -> Any:
        """The rows, if none of them is bad: nothing is collected here, since nothing is taken."""
        if parsed.rejects:
            raise Rejected(sorted(parsed.rejects), what)
        return parsed.rows

    def _preview_schema(self, family: Family, rows: Any, events: Any) -> pa.Schema:
        subscribed = arrow_ids(rows.ids).type
        if not family.answers_stand:
            return match_schema(arrow_ids(events.ids).type, subscribed)
        return ranking_schema(
            subscribed, self._id_type("publications object" if family.has_objects else "publications id")
        )


def _given_in_vain(family: Family) -> ValueError:
    if family.answers_stand:
        return ValueError(f"The family {family.name} previews against what is live: leave the publications out.")
    return ValueError(f"The family {family.name} keeps no publications: give some that the preview is to look at.")
