"""What every document shares: frozen models, value-or-reason facts, and the schema header."""

from typing import ClassVar, TypeVar, Union

from pydantic import BaseModel, ConfigDict, Field

from fabricdoc import __version__
from fabricdoc.model.moment import utc_now as utc_now

T = TypeVar("T")


class Frozen(BaseModel):
    """Base of every model: immutable, and a key it does not know is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)


class Unknown(Frozen):
    """A fact that could not be read, with the reason; never a made-up value."""

    unknown: str


NOT_READ = Unknown.model_construct(unknown="not read")
"""The default of a fact that a probe of an earlier version, or a dump, does not hold."""

Fact = Union[T, Unknown]  # noqa: UP007 - a generic alias needs Union on Python 3.11


class Document(Frozen):
    """Base of every JSON document: `schema` ("fabricdoc/<kind>/<n>"), `fabricdoc` (version), `created`."""

    kind: ClassVar[str] = ""
    edition: ClassVar[int] = 1

    schema_: str = Field(default="", alias="schema")
    fabricdoc: str = __version__
    created: str = Field(default_factory=utc_now)

    model_config = ConfigDict(
        frozen=True, extra="forbid", populate_by_name=True, serialize_by_alias=True, defer_build=True
    )

    def model_post_init(self, _context: object) -> None:
        """Fill or check `schema`: a document of another kind or edition is refused."""
        wanted = self.schema_id()
        if self.schema_ == "":
            object.__setattr__(self, "schema_", wanted)
            self.__pydantic_fields_set__.add("schema_")
        elif self.schema_ != wanted:
            raise ValueError(f"schema is {self.schema_!r}, wanted {wanted!r}")

    @classmethod
    def schema_id(cls) -> str:
        """The value of `schema` for this kind."""
        return f"fabricdoc/{cls.kind}/{cls.edition}"
