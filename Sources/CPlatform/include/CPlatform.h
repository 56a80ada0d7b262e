// The few calls that Swift's C library module lacks, or that differ between Linux and Apple systems.
#pragma once
// The C library's own calls come with this header, so that Swift files need not know which C library it is.
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

int tidemark_errno(void);
void tidemark_clear_errno(void);

/// `open`, `close` and `rename` under names that hide no method.
int tidemark_open(const char *path, int flags, mode_t mode);
int tidemark_close(int descriptor);
int tidemark_rename(const char *path, const char *new_path);

/// The short name of this program.
const char *tidemark_program_name(void);

/// Makes a file's data durable: `fdatasync` on Linux, `F_FULLFSYNC` on Apple systems. Returns 0, or -1 with errno.
int tidemark_sync_data(int descriptor);

/// Whether the file behind the descriptor has lost its last name. This and the length are asked for alone: since Linux 6.13, looking at the
/// times of a file makes the next write to it change the inode, which costs a third of a small append and its sync.
bool tidemark_is_deleted(int descriptor);

/// The length of the file in bytes, or -1 with errno.
int64_t tidemark_file_length(int descriptor);

/// Begins to send a range of a file to the device and does not wait for it: `sync_file_range` on Linux, nothing on Apple systems. Makes
/// nothing durable.
void tidemark_start_writeback(int descriptor, off_t position, off_t count);

/// Nanoseconds since boot, time asleep included.
uint64_t tidemark_boot_clock(void);

/// Whether the kernel believes that its wall clock is synchronised to a reference.
bool tidemark_clock_is_synchronized(void);

/// Fills `count` bytes from the system's random source. Returns 0, or -1 with errno.
int tidemark_random(void *bytes, size_t count);

/// Copies the boot id as text, at most `capacity` bytes with the final zero. Returns its length, or -1.
int tidemark_boot_id(char *text, size_t capacity);

/// Asks the scheduler to prefer every other thread to the calling one.
void tidemark_lower_thread_priority(void);

/// Waits until `*word` differs from `expected`, a wake-up, or `timeout` nanoseconds (negative: for ever). May return early.
void tidemark_wait(const uint32_t *word, uint32_t expected, int64_t timeout);

/// Wakes all who wait on `word`, in any process that shares its page.
void tidemark_wake_all(uint32_t *word);

uint64_t tidemark_load64(const uint64_t *word);
void tidemark_store64(uint64_t *word, uint64_t value);
uint32_t tidemark_load32(const uint32_t *word);
uint32_t tidemark_add32(uint32_t *word, uint32_t value);
void tidemark_store32(uint32_t *word, uint32_t value);

/// Sleeps for so many nanoseconds.
void tidemark_sleep(uint64_t nanoseconds);

/// Makes a lock that spins a little before it sleeps, where the system has such.
void tidemark_lock_init(pthread_mutex_t *lock);
