"""What a request is answered with when it is refused: a code for programs, a sentence and a remedy for people."""

from typing import Any


class Problem(Exception):
    """A refused request. `message` says what is wrong, `remedy` what to do, `field` where."""

    def __init__(
        self,
        code: str,
        status: int,
        message: str,
        remedy: str = "",
        *,
        field: str | None = None,
        retry_after: int | None = None,
        allow: str | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.status = status
        self.message = message
        self.remedy = remedy
        self.field = field
        self.retry_after = retry_after
        self.allow = allow

    def as_json(self) -> dict[str, Any]:
        """The object `error` of an answer."""
        return {"code": self.code, "message": self.message, "field": self.field, "remedy": self.remedy}


def stopping() -> Problem:
    """What came in while the service stops is refused, and not lost: it may be sent again."""
    return Problem("stopping", 503, "the service is stopping", "try again in a moment", retry_after=2)
