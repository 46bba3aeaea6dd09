"""Locks on open files. The system releases them when their process ends, however it ends."""

import errno
import sys

if sys.platform == "win32":

    def try_lock(descriptor: int) -> bool | None:
        """True: locked. False: another process holds the lock. None: there are no such locks here."""
        return None

else:
    import fcntl

    def try_lock(descriptor: int) -> bool | None:
        """True: locked. False: another process holds the lock. None: this file system has no locks."""
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno == errno.EWOULDBLOCK:
                return False
            if error.errno in (errno.ENOLCK, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL):
                return None
            raise
        return True
