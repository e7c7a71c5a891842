"""Things of one kind by name: the library's own, and beside them those of users."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Generic, TypeVar

from engram.errors import BadSetting, UnknownName
from engram.own.origins import Origin, origin, origin_at
from engram.own.places import NotFound, absolute, file_name, is_place, load

T = TypeVar("T")


class Registry(Generic[T]):
    """Knows a thing by its name, and a user's also by the object itself or by its place."""

    def __init__(
        self,
        kind: str,
        library: Callable[[], Mapping[str, T]],
        fits: Callable[[Any], bool],
        wanted: str,
        adopt: Callable[[Any], tuple[str, T]],
        aliases: Mapping[str, str] | None = None,
    ):
        """`adopt` makes of a user's object that `fits` (it is `wanted`, in words) a name and what the library uses.
        `aliases` are other names for things of the library's: whatever is asked for by one is known by the other."""
        self.kind, self._library, self._fits, self._wanted, self._adopt = kind, library, fits, wanted, adopt
        self.aliases = dict(aliases or {})
        self.users: dict[str, tuple[T, Origin | None]] = {}

    def everything(self) -> dict[str, T]:
        """All of them by name."""
        return dict(sorted({**self._library(), **{name: thing for name, (thing, _) in self.users.items()}}.items()))

    def __getitem__(self, name: str) -> T:
        if name in self.users:
            return self.users[name][0]
        known, proper = self._library(), self.proper(name)
        if proper not in known:
            raise UnknownName(self.kind, name, self.everything())
        return known[proper]

    def proper(self, name: str) -> str:
        """The name that a thing is known by, where this one is an alias."""
        return self.aliases.get(name, name)

    def of(self, asked: Any) -> Any:
        """What is asked for by name, by place or as the object itself, without making it known."""
        if isinstance(asked, str):
            return self[asked] if self._is_name(asked) else load(asked, self._fits, self._wanted)
        if not self._fits(asked):
            raise NotFound(f"{asked!r} is not a {self.kind}; give a name or a {self._wanted}")
        return asked

    def name_of(self, asked: Any) -> str:
        """The same, but its name; a user's object is made known."""
        thing = self.of(asked)
        if isinstance(asked, str) and self._is_name(asked):
            return self.proper(asked)
        return self._add(thing, absolute(asked) if isinstance(asked, str) else None)

    def _is_name(self, text: str) -> bool:
        return text in self.users or not is_place(text)

    def _add(self, thing: Any, place: str | None) -> str:
        name, adopted = self._adopt(thing)
        source = origin(thing) if place is None else origin_at(place, thing)
        if self.proper(name) in self._library():
            if source is not None:
                raise BadSetting(f"there is a {self.kind} '{name}' in the library; give {thing.__name__} another name")
            return name
        self.users[name] = (adopted, source)
        return name

    def origin(self, name: str) -> Origin | None:
        """Where a user's object comes from; None for the library's own."""
        return self.users[name][1] if name in self.users else None

    def find_again(self, place: str, digest: str) -> str:
        """The name of what was at a place when it had this digest. What has another one by now is not made known: its
        name may be that of something that is in use."""
        thing = self.of(place)
        source = origin_at(absolute(place), thing)
        if source is not None and source.digest != digest:
            raise BadSetting(f"{file_name(place)} has changed since this was asked for; ask for it again")
        return self._add(thing, absolute(place))
