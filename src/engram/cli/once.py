"""Commands whose options are given once: of several values the parser would keep the last without a word."""

from __future__ import annotations

from collections import Counter
from typing import Any

from typer.core import TyperCommand

from engram.errors import BadSetting


class Once(TyperCommand):
    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        _, _, given = self.make_parser(ctx).parse_args(args=list(args))
        for parameter, times in Counter(given).items():
            if times > 1 and not parameter.multiple and not getattr(parameter, "is_flag", False):
                raise BadSetting(f"{parameter.opts[0]} was given {times} times; give it once")
        return super().parse_args(ctx, args)
