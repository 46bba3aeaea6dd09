"""Scanners of records with a schema: which lines of a block the careful reader is to read."""

from weft.storage.lexicon import Lexicon
from weft.streams.blocks import LONGEST_LINE, Blocks
from weft.streams.record_lines import CsvRecords, JsonRecords
from weft.streams.scanners import Scanned, list_lines, list_records


class JsonRecordScanner:
    """JSON lines with a schema."""

    def __init__(self, parser: JsonRecords) -> None:
        self._parser = parser
        self.tasks, self.features, self.labels = Lexicon(), Lexicon(), Lexicon()

    def scan(self, blocks: Blocks, begin: int) -> Scanned:
        """Read the lines of a block from byte `begin` on."""
        return list_lines(blocks, begin, self._parser.has_rounds)


class CsvRecordScanner:
    """CSV with a schema; the careful reader has read the header."""

    def __init__(self, parser: CsvRecords) -> None:
        self._parser = parser
        self.tasks, self.features, self.labels = Lexicon(), Lexicon(), Lexicon()

    def scan(self, blocks: Blocks, begin: int) -> Scanned:
        """Read the rows of a block from byte `begin` on."""
        is_open = not blocks.is_last and blocks.end - begin <= LONGEST_LINE
        return list_records(blocks, begin, self._parser, is_open)
