Table = object  # a capsule

def new_table(seed: int, /) -> Table: ...

# the limits are numbers of lines, bytes, bytes per line and words per line; the addresses are of int64 for each line
# (starts, ends, numbers of words), and of int32 for half of the bytes, rounded up (rows of words); returns the numbers
# of lines, words and bytes, and whether a line is odd
def split(
    table: Table, data: bytes, limits: tuple[int, ...], addresses: tuple[int, ...], /
) -> tuple[int, int, int, bool]: ...
def words(table: Table, first_row: int, /) -> list[str]: ...
def size(table: Table, /) -> tuple[int, int]: ...  # rows, and bytes of memory
