"""Compiled readers: from the bytes of a block of lines to columns of codes and numbers.

They read the common form of a line and are certain about it. A line that is not of that form leaves no trace and is
listed for the careful reader of its format, which reads it or says what is wrong with it. These functions use the
folder `compiled` and each other only: their machine code does not depend on learners, nor learners on them.
"""
