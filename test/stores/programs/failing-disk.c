/*
 * Preloaded into a process, a disk that fails on command: while the file named by FAIL_META exists, writing
 * the first 8 KB of any file fails (LMDB's meta pages); while the one named by FAIL_SYNC exists, flushing does.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static int told_to_fail(const char *variable) {
  struct stat ignored;
  const char *file = getenv(variable);
  return file && stat(file, &ignored) == 0;
}

static ssize_t write_at(const char *name, int fd, const void *bytes, size_t size, off_t offset) {
  ssize_t (*real)(int, const void *, size_t, off_t) = dlsym(RTLD_NEXT, name);
  if (offset < 8192 && told_to_fail("FAIL_META")) {
    errno = EIO;
    return -1;
  }
  return real(fd, bytes, size, offset);
}

ssize_t pwrite(int fd, const void *bytes, size_t size, off_t offset) {
  return write_at("pwrite", fd, bytes, size, offset);
}

ssize_t pwrite64(int fd, const void *bytes, size_t size, off_t offset) {
  return write_at("pwrite64", fd, bytes, size, offset);
}

int fdatasync(int fd) {
  int (*real)(int) = dlsym(RTLD_NEXT, "fdatasync");
  if (told_to_fail("FAIL_SYNC")) {
    errno = EIO;
    return -1;
  }
  return real(fd);
}
