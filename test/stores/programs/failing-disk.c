/*
 * Preloaded into a process, a disk that fails on command: while the file named by FAIL_META exists, writing
 * the first 8 KB of any file fails (LMDB's meta pages); while the one named by FAIL_SYNC exists, flushing does,
 * so that a write to a file that flushes by itself (the journal) is made and then said to have failed, and cutting files does.
 * With FAIL_JOURNAL writes to the journal are made and said to have failed, too, but it can be cut; the database cannot be flushed.
 * With FAIL_RECORD LMDB's meta pages are written and said not to have been.
 * With FAIL_DIRECT there is no writing past the page cache, as on a file system that cannot.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int told_to_fail(const char *variable) {
  struct stat ignored;
  const char *file = getenv(variable);
  return file && stat(file, &ignored) == 0;
}

static int is_journal(int fd) {
  char link[64], path[4096];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t length = readlink(link, path, sizeof path - 1);
  if (length < 0) return 0;
  path[length] = 0;
  return strstr(path, "/journal-") != NULL;
}

static ssize_t write_at(const char *name, int fd, const void *bytes, size_t size, off_t offset) {
  ssize_t (*real)(int, const void *, size_t, off_t) = dlsym(RTLD_NEXT, name);
  if (offset < 8192 && told_to_fail("FAIL_META")) {
    errno = EIO;
    return -1;
  }
  if ((fcntl(fd, F_GETFL) & O_DIRECT) && told_to_fail("FAIL_DIRECT")) {
    errno = EINVAL;
    return -1;
  }
  ssize_t written = real(fd, bytes, size, offset);
  int flushes = fcntl(fd, F_GETFL) & O_DSYNC;
  int is_meta = offset < 8192 && !is_journal(fd);
  if ((is_meta && told_to_fail("FAIL_RECORD")) || (flushes && told_to_fail("FAIL_SYNC")) || (is_journal(fd) && told_to_fail("FAIL_JOURNAL"))) {
    errno = EIO;
    return -1;
  }
  return written;
}

ssize_t pwrite(int fd, const void *bytes, size_t size, off_t offset) {
  return write_at("pwrite", fd, bytes, size, offset);
}

ssize_t pwrite64(int fd, const void *bytes, size_t size, off_t offset) {
  return write_at("pwrite64", fd, bytes, size, offset);
}

int fdatasync(int fd) {
  int (*real)(int) = dlsym(RTLD_NEXT, "fdatasync");
  if (told_to_fail("FAIL_SYNC") || (!is_journal(fd) && told_to_fail("FAIL_JOURNAL"))) {
    errno = EIO;
    return -1;
  }
  return real(fd);
}

static int cut(const char *name, int fd, off_t length) {
  int (*real)(int, off_t) = dlsym(RTLD_NEXT, name);
  if (told_to_fail("FAIL_SYNC")) {
    errno = EIO;
    return -1;
  }
  return real(fd, length);
}

int ftruncate(int fd, off_t length) { return cut("ftruncate", fd, length); }

int ftruncate64(int fd, off_t length) { return cut("ftruncate64", fd, length); }
