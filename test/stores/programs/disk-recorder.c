/*
 * Preloaded into a process, notes in the file DISK_TRACE what it does to the files in the directory DISK_DIRECTORY, in the order in which it
 * is done, and what it says on standard output, so that a test can make the directory as it was at any moment. A note is a line
 * "kind name offset length", and behind a write its bytes.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#define REAL(type, name, ...) ((type(*)(__VA_ARGS__))dlsym(RTLD_NEXT, #name))

/** One operation at a time, so that the notes have the order of what they tell of. */
static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;

static const char *name_of(const char *path) {
  const char *directory = getenv("DISK_DIRECTORY");
  size_t length = strlen(directory);
  if (strncmp(path, directory, length) != 0) return NULL;
  if (path[length] == 0) return ".";
  return path[length] == '/' ? path + length + 1 : NULL;
}

static const char *name_of_file(int fd, char path[4096]) {
  char link[64];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t length = readlink(link, path, 4095);
  if (length < 0) return NULL;
  path[length] = 0;
  return strchr(path, ' ') ? NULL : name_of(path);
}

static void note(char kind, const char *name, off_t offset, const struct iovec *parts, int count, size_t length) {
  static int trace = -1;
  char line[4200];
  if (trace < 0) trace = REAL(int, open64, const char *, int, ...)(getenv("DISK_TRACE"), O_WRONLY | O_CREAT | O_APPEND, 0600);
  int size = snprintf(line, sizeof line, "%c %s %lld %zu\n", kind, name, (long long)offset, length);
  ssize_t (*write_all)(int, const void *, size_t) = REAL(ssize_t, write, int, const void *, size_t);
  if (write_all(trace, line, size) != size) abort();
  for (int i = 0; i < count && length > 0; i++) {
    size_t some = parts[i].iov_len < length ? parts[i].iov_len : length;
    if (write_all(trace, parts[i].iov_base, some) != (ssize_t)some) abort();
    length -= some;
  }
}

/** A write to a file that flushes with each write is on disk when it returns: `D`. */
static void note_write(int fd, const struct iovec *parts, int count, off_t offset, ssize_t written) {
  char path[4096];
  if (written < 0) return;
  const char *name = name_of_file(fd, path);
  if (name) note(fcntl(fd, F_GETFL) & O_DSYNC ? 'D' : 'W', name, offset, parts, count, written);
}

/** Before it is said: whoever hears it may end this process at once. */
static void note_answer(void) {
  pthread_mutex_lock(&one_at_a_time);
  note('A', "-", 0, NULL, 0, 0);
  pthread_mutex_unlock(&one_at_a_time);
}

#define ALONE(type, action)                 \
  pthread_mutex_lock(&one_at_a_time);       \
  type result = action;

#define DONE                                \
  pthread_mutex_unlock(&one_at_a_time);     \
  return result;

ssize_t write(int fd, const void *bytes, size_t size) {
  struct iovec part = {(void *)bytes, size};
  off_t offset = lseek(fd, 0, SEEK_CUR);
  if (fd == 1) note_answer();
  ALONE(ssize_t, REAL(ssize_t, write, int, const void *, size_t)(fd, bytes, size))
  note_write(fd, &part, 1, offset, result);
  DONE
}

ssize_t writev(int fd, const struct iovec *parts, int count) {
  off_t offset = lseek(fd, 0, SEEK_CUR);
  ALONE(ssize_t, REAL(ssize_t, writev, int, const struct iovec *, int)(fd, parts, count))
  note_write(fd, parts, count, offset, result);
  DONE
}

ssize_t pwrite64(int fd, const void *bytes, size_t size, off_t offset) {
  struct iovec part = {(void *)bytes, size};
  ALONE(ssize_t, REAL(ssize_t, pwrite64, int, const void *, size_t, off_t)(fd, bytes, size, offset))
  note_write(fd, &part, 1, offset, result);
  DONE
}

ssize_t pwritev64(int fd, const struct iovec *parts, int count, off_t offset) {
  ALONE(ssize_t, REAL(ssize_t, pwritev64, int, const struct iovec *, int, off_t)(fd, parts, count, offset))
  note_write(fd, parts, count, offset, result);
  DONE
}

static void note_file(char kind, int fd, off_t offset, int result) {
  char path[4096];
  const char *name = name_of_file(fd, path);
  if (result == 0 && name) note(kind, name, offset, NULL, 0, 0);
}

/** Takes as long as on a slow disk: commits go on while the database is written. */
int fdatasync(int fd) {
  usleep(20000);
  ALONE(int, REAL(int, fdatasync, int)(fd))
  note_file('S', fd, 0, result);
  DONE
}

int fsync(int fd) {
  ALONE(int, REAL(int, fsync, int)(fd))
  note_file('S', fd, 0, result);
  DONE
}

int ftruncate64(int fd, off_t length) {
  ALONE(int, REAL(int, ftruncate64, int, off_t)(fd, length))
  note_file('T', fd, length, result);
  DONE
}

int open64(const char *path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  int mode = flags & O_CREAT ? va_arg(rest, int) : 0;
  va_end(rest);
  struct stat ignored;
  int is_new = stat(path, &ignored) != 0;
  ALONE(int, REAL(int, open64, const char *, int, ...)(path, flags, mode))
  const char *name = name_of(path);
  if (result >= 0 && name && is_new) note('C', name, 0, NULL, 0, 0);
  if (result >= 0 && name && !is_new && flags & O_TRUNC) note('T', name, 0, NULL, 0, 0);
  DONE
}

int unlink(const char *path) {
  ALONE(int, REAL(int, unlink, const char *)(path))
  const char *name = name_of(path);
  if (result == 0 && name) note('U', name, 0, NULL, 0, 0);
  DONE
}

int rename(const char *from, const char *to) {
  ALONE(int, REAL(int, rename, const char *, const char *)(from, to))
  const char *old = name_of(from), *new = name_of(to);
  struct iovec part = {(void *)new, new ? strlen(new) : 0};
  if (result == 0 && old && new) note('R', old, 0, &part, 1, part.iov_len);
  DONE
}
