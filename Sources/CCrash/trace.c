// A program that is killed at the entry of one of its system calls.
#define _GNU_SOURCE
#include "CCrash.h"

#ifdef __linux__

#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>

// Whether a call changes files, or their order on the disk. Opening to read and closing count only once something was changed: before that
// a program is loaded.
static bool counts(uint64_t number, const uint64_t arguments[6], bool begun) {
  const uint64_t changing = O_WRONLY | O_RDWR | O_CREAT | O_TRUNC;
  switch (number) {
#ifdef SYS_open
  case SYS_open: return begun || (arguments[1] & changing) != 0;
  case SYS_creat:
  case SYS_rename:
  case SYS_unlink:
  case SYS_link:
  case SYS_symlink:
  case SYS_mkdir:
  case SYS_rmdir:
#endif
#ifdef SYS_renameat
  case SYS_renameat:
#endif
#ifdef SYS_sync_file_range
  case SYS_sync_file_range:
#endif
#ifdef SYS_sync_file_range2
  case SYS_sync_file_range2:
#endif
  case SYS_write:
  case SYS_pwrite64:
  case SYS_writev:
  case SYS_pwritev:
  case SYS_pwritev2:
  case SYS_sendfile:
  case SYS_splice:
  case SYS_copy_file_range:
  case SYS_io_submit:
  case SYS_io_uring_enter:
  case SYS_fsync:
  case SYS_fdatasync:
  case SYS_sync:
  case SYS_syncfs:
  case SYS_msync:
  case SYS_truncate:
  case SYS_ftruncate:
  case SYS_fallocate:
  case SYS_renameat2:
  case SYS_unlinkat:
  case SYS_linkat:
  case SYS_symlinkat:
  case SYS_mkdirat: return true;
  case SYS_openat: return begun || (arguments[2] & changing) != 0;
  case SYS_close: return begun;
  default: return false;
  }
}

// Waits until one of the traced threads stops or ends.
static pid_t next_stop(int *status) {
  pid_t got;
  do got = waitpid(-1, status, __WALL);
  while (got < 0 && errno == EINTR);
  return got;
}

// Takes the place of a program that ended so.
static void end_as(int status) {
  if (WIFEXITED(status)) _exit(WEXITSTATUS(status));
  signal(WTERMSIG(status), SIG_DFL);
  kill(getpid(), WTERMSIG(status));
  _exit(125);
}

// What the traced process does: it waits until it is traced, then becomes the program. If its tracer dies before, the pipe ends.
static void become(int leash[2], const char *path, char *const arguments[]) {
  char byte;
  close(leash[1]);
  if (read(leash[0], &byte, 1) == 1) execv(path, arguments);
  _exit(125);
}

int crash_execute_killing(uint64_t call, const char *path, char *const arguments[]) {
  // It dies with whoever started it, and is started in vain if that one, who reads its output, is dead already.
  if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) return -1;
  struct pollfd reader = {.fd = 1};
  if (poll(&reader, 1, 0) > 0 && (reader.revents & POLLERR) != 0) return -1;
  int leash[2];
  if (pipe2(leash, O_CLOEXEC) != 0) return -1;
  pid_t program = fork();
  if (program < 0) return -1;
  if (program == 0) become(leash, path, arguments);
  long options = PTRACE_O_EXITKILL | PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEEXEC | PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK;
  if (ptrace(PTRACE_SEIZE, program, NULL, options) != 0) {
    int error = errno;
    kill(program, SIGKILL);
    waitpid(program, NULL, 0);
    errno = error;
    return -1;
  }
  // The pipe of acknowledgements ends with the program.
  close(0);
  close(1);
  if (write(leash[1], "", 1) != 1) return -1;
  close(leash[0]);
  close(leash[1]);
  uint64_t count = 0;
  int status;
  for (pid_t thread; (thread = next_stop(&status)) > 0;) {
    if (!WIFSTOPPED(status)) {
      if (thread == program) end_as(status);
      continue;
    }
    int delivered = 0, event = status >> 16;
    if (WSTOPSIG(status) == (SIGTRAP | 0x80)) {
      struct __ptrace_syscall_info info;
      if (ptrace(PTRACE_GET_SYSCALL_INFO, thread, sizeof info, &info) <= 0) {
        // It may have been killed meanwhile; else the kernel is too old for this.
        if (errno != ESRCH) return -1;
        continue;
      }
      if (info.op == PTRACE_SYSCALL_INFO_ENTRY) {
        uint64_t values[6];
        for (int i = 0; i < 6; i++) values[i] = info.entry.args[i];
        if (counts(info.entry.nr, values, count > 0)) count++;
        if (count == call) {
          kill(program, SIGKILL);
          continue;
        }
      }
    } else if (event == 0) {
      delivered = WSTOPSIG(status);
    }
    (void)ptrace(PTRACE_SYSCALL, thread, NULL, (long)delivered);
  }
  return -1;
}

#endif
