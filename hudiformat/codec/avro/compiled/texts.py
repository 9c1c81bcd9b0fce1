"""Process single texts in kernels: copy a text, make a view of it, check that it is UTF-8; eight or 32 bytes at a time.

Up to 32 bytes behind a text are read, and as many behind its copy are overwritten.
"""

from __future__ import annotations

from hudiformat.kernels.memory import copy16, high_bits32, load64, store64, wrap64

_HIGH = -0x7F7F7F7F7F7F7F80  # the highest bit of each of eight bytes
_FOUR_BYTES = 0xFFFFFFFF
_COPIED = 32  # the longest text that is copied without a loop
_INLINE = 12  # the longest text that Arrow keeps in the view itself


def copy_text(target: int, source: int, length: int) -> int:
    """Copy a text; return a number that is not 0 if a byte of it is not ASCII."""
    if length <= _COPIED:  # one branch for all short lengths, which the processor predicts well
        copy16(target, source)
        copy16(target + 16, source + 16)
        return high_bits32(source) & ((1 << length) - 1)
    every = load64(source + length - 8)
    for done in range(0, length - 8, 16):
        copy16(target + done, source + done)
        every |= load64(source + done)
        if done + 16 < length:
            every |= load64(source + done + 8)
    store64(target + length - 8, load64(source + length - 8))
    return every & _HIGH


def _below(count: int) -> int:
    """Return a word whose first *count* bytes are set: at most eight of them, none if *count* is negative."""
    return (-1 if count >= 8 else (1 << 8 * count) - 1) if count > 0 else 0


def high_bits_of_text(source: int, length: int) -> int:
    """Return what :func:`copy_text` returns, without a copy."""
    if length <= _COPIED:
        return high_bits32(source) & ((1 << length) - 1)
    every = high_bits32(source + length - _COPIED)
    for done in range(0, length - _COPIED, _COPIED):
        every |= high_bits32(source + done)
    return every


def view_text(target: int, source: int, length: int, offset: int) -> int:
    """Store Arrow's view of a text that lies at *offset* of its buffer; return what :func:`copy_text` returns.

    A view is 16 bytes: the length (int32), then the bytes themselves if they are at most twelve, else the first four of
    them, the number of their buffer (here 0) and their offset in it.
    """
    first = load64(source) & _FOUR_BYTES
    if length > _INLINE:
        store64(target, length | first << 32)
        store64(target + 8, offset << 32)
        return high_bits_of_text(source, length)
    first &= _below(length)
    second = load64(source + 4) & _below(length - 4)
    store64(target, length | first << 32)
    store64(target + 8, second)
    return (first | second) & _HIGH


def is_utf8(source: int, length: int) -> bool:
    """Return whether a text is UTF-8.

    Most texts that are not ASCII have characters of at most two bytes: there each byte from c2 to df is followed by one
    from 80 to bf, and no other byte is above 7f.  That is checked first, without a branch.
    """
    tail = length & 7
    at = source + length - tail
    word = load64(at) & _below(tail)
    one = load64(at - 1) & _below(tail + 1) if length >= 8 else word << 8
    wrong, longer = _is_wrong_if_short(word, one), word & word << 1 & word << 2
    for done in range(0, length - 7, 8):
        word = load64(source + done)
        one = load64(source + done - 1) if done else word << 8
        wrong |= _is_wrong_if_short(word, one)
        longer |= word & word << 1 & word << 2
    return _has_only_utf8(source, length) if wrap64(longer & _HIGH) else wrap64(wrong & _HIGH) == 0


def _is_wrong_if_short(word: int, one: int) -> int:
    """Return which bytes are wrong if all characters have at most two bytes: the highest bit of each such byte.

    ``one`` holds in the place of each byte the byte in front of it; a shift by n moves bit 7 - n of each byte to its
    top.  For the bytes 61 c3 a4 ("aä"), only the top bits of word, word << 1 and so on are used:

        byte                           61      c3      a4
        word, its top bit              0       1       1
        word << 1: bit 6               1       1       0
        continues: bits 10             0       0       1       word & ~(word << 1)
        one: the byte in front         00      61      c3
        one & one << 1: bits 11        0       0       1       a byte after c3 has to continue it
        continues ^ (one & one << 1)   0       0       0       nothing is wrong
    """
    continues = word & ~(word << 1)
    overlong = word & word << 1 & ~(word << 2 | word << 3 | word << 4 | word << 5 | word << 6)  # c0, c1
    return continues ^ (one & one << 1) | overlong


def _has_only_utf8(source: int, length: int) -> bool:
    """Return whether a text is UTF-8, of any characters: its bytes, eight at a time, and a zero byte behind them.

    For "a", e9 (the first byte of three) and "b": the byte that follows e9 has to begin with the bits 10, and does not.
    """
    before = 0
    for done in range(0, length + 1, 8):
        word = load64(source + done)
        if done + 8 > length:
            word &= (1 << 8 * (length - done)) - 1
        if (word | before) & _HIGH and _is_wrong(word, before):
            return False
        before = word
    return True


def _is_wrong(word: int, before: int) -> bool:
    """Return whether one of eight bytes is wrong where it stands; *before* are the eight bytes in front of them.

    In each number a byte's highest bit tells of that byte.  ``one``, ``two`` and ``three`` hold in the place of each
    byte the byte so far in front of it; a shift by n moves bit 7 - n of each byte to its top.
    """
    one = word << 8 | (before >> 56 & 0xFF)
    two = word << 16 | (before >> 48 & 0xFFFF)
    three = word << 24 | (before >> 40 & 0xFFFFFF)
    leads = word & word << 1
    after_two, after_three = two & two << 1 & two << 2, three & three << 1 & three << 2 & three << 3
    wrong = (word & ~(word << 1)) ^ ((one & one << 1) | after_two | after_three)
    wrong |= leads & ~(word << 2 | word << 3 | word << 4 | word << 5 | word << 6)  # c0, c1
    longer = one & one << 1 & one << 2
    if wrap64((leads & word << 2 | longer) & _HIGH):
        wrong |= leads & word << 2 & word << 3 & (word << 4 | (word << 5 & (word << 6 | word << 7)))  # f5 to ff
        low = one << 4 | one << 5 | one << 6 | one << 7  # the last four bits of the byte in front
        fourth = word << 2 | word << 3
        wrong |= longer & ~(one << 3 | low | word << 2)  # e0, then 80 to 9f
        wrong |= longer & ~(one << 3) & one << 4 & one << 5 & ~(one << 6) & one << 7 & word << 2  # ed, then a0 to bf
        wrong |= longer & one << 3 & ~(low | fourth)  # f0, then 80 to 8f
        wrong |= longer & one << 3 & ~(one << 4) & one << 5 & ~(one << 6 | one << 7) & fourth  # f4, then 90 to bf
    return wrap64(wrong & _HIGH) != 0
