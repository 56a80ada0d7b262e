// Batches of events into PostgreSQL, with what a server of the protocol promises: an id once only, change numbers without a gap, and a commit
// that is synced before it is acknowledged. One statement a batch, prepared, its arrays in binary form.
//
//   postgresql SOCKET_DIRECTORY CONNECTIONS BATCHES BATCH    prints events a second
//
// cc -O2 postgresql.c -lpq -pthread
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <endian.h>
#include <libpq-fe.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { typeByteCount = 4, dataByteCount = 200, columnCount = 5 };

static const char *directory;
static uint32_t batchCount, batchSize;
static pthread_barrier_t start;

struct column {
  uint32_t element;
  int byteCount;
  char *bytes;
};

struct connection {
  uint32_t number;
  struct column *columns;
};

_Noreturn static void fail(const char *what, PGconn *connection) {
  fprintf(stderr, "postgresql: %s: %s\n", what, connection == NULL ? "" : PQerrorMessage(connection));
  exit(1);
}

static void run(PGconn *connection, const char *sql) {
  PGresult *result = PQexec(connection, sql);
  if (PQresultStatus(result) != PGRES_COMMAND_OK && PQresultStatus(result) != PGRES_TUPLES_OK) fail(sql, connection);
  PQclear(result);
}

static PGconn *connectTo(void) {
  char text[1024];
  snprintf(text, sizeof text, "host=%s user=postgres dbname=postgres", directory);
  PGconn *connection = PQconnectdb(text);
  if (PQstatus(connection) != CONNECTION_OK) fail("no connection", connection);
  return connection;
}

// An array of one dimension, in the form that the server's array_recv reads.
static void beginArray(struct column *column, uint32_t element, size_t elementByteCount) {
  column->element = element;
  column->bytes = malloc(20 + (4 + elementByteCount) * batchSize);
  uint32_t head[5] = {htonl(1), 0, htonl(element), htonl(batchSize), htonl(1)};
  memcpy(column->bytes, head, sizeof head);
  column->byteCount = sizeof head;
}

static void add(struct column *column, const void *bytes, uint32_t byteCount) {
  uint32_t length = htonl(byteCount);
  memcpy(column->bytes + column->byteCount, &length, 4);
  memcpy(column->bytes + column->byteCount + 4, bytes, byteCount);
  column->byteCount += 4 + (int)byteCount;
}

static void prepareBatch(struct column *columns, uint32_t connection, uint32_t batch) {
  beginArray(&columns[0], 2950, 16);  // uuid
  beginArray(&columns[1], 25, typeByteCount);
  beginArray(&columns[2], 25, 16);
  beginArray(&columns[3], 20, 8);
  beginArray(&columns[4], 25, dataByteCount);
  for (uint32_t index = 0; index < batchSize; index++) {
    uint64_t number = (uint64_t)batch * batchSize + index, mixed = (number + ((uint64_t)connection << 40)) * 0x9E3779B97F4A7C15;
    // In the order of their time, as ids of version 7 are.
    uint64_t id[2] = {htobe64(0x0192000000007000 + (number << 16)), htobe64((1ULL << 63) | (uint64_t)connection << 33 | number)};
    char subject[16], data[dataByteCount + 64];
    int length = snprintf(subject, sizeof subject, "gate-%u", (unsigned)(number % 97));
    int64_t time = (int64_t)htobe64(1700000000000000000 + number * 60000000000);
    memset(data, ' ', sizeof data);
    int written = snprintf(
      data, sizeof data, "{\"point\":\"hall-%u\",\"count\":%llu,\"badge\":\"%016llx%016llx\",\"note\":\"north stair, door closed; north stair, "
      "door closed; north stair, door closed; north stair, door closed; north", (unsigned)(number % 61), (unsigned long long)number,
      (unsigned long long)mixed, (unsigned long long)(mixed * 0xBF58476D1CE4E5B9));
    if (written > dataByteCount - 2) written = dataByteCount - 2;
    memset(data + written, ' ', (size_t)(dataByteCount - 2 - written));
    memcpy(data + dataByteCount - 2, "\"}", 2);
    add(&columns[0], id, sizeof id);
    add(&columns[1], "scan", typeByteCount);
    add(&columns[2], subject, (uint32_t)length);
    add(&columns[3], &time, sizeof time);
    add(&columns[4], data, dataByteCount);
  }
}

static const char insertion[] =
  "WITH new AS (INSERT INTO events SELECT * FROM unnest($1::uuid[], $2::text[], $3::text[], $4::bigint[], $5::text[]) "
  "ON CONFLICT (id) DO NOTHING RETURNING 1), "
  "taken AS (UPDATE tenants SET through = through + (SELECT count(*) FROM new) WHERE name = 'load' RETURNING through) "
  "INSERT INTO requests (last_change) SELECT through FROM taken RETURNING last_change";

static void *work(void *context) {
  struct connection *self = context;
  PGconn *connection = connectTo();
  PGresult *prepared = PQprepare(connection, "insertion", insertion, 0, NULL);
  if (PQresultStatus(prepared) != PGRES_COMMAND_OK) fail("preparing", connection);
  PQclear(prepared);
  pthread_barrier_wait(&start);
  for (uint32_t batch = 0; batch < batchCount; batch++) {
    struct column *columns = self->columns + batch * columnCount;
    const char *values[columnCount];
    int lengths[columnCount], formats[columnCount];
    for (int column = 0; column < columnCount; column++) {
      values[column] = columns[column].bytes;
      lengths[column] = columns[column].byteCount;
      formats[column] = 1;
    }
    PGresult *result = PQexecPrepared(connection, "insertion", columnCount, values, lengths, formats, 0);
    if (PQresultStatus(result) != PGRES_TUPLES_OK) fail("inserting", connection);
    PQclear(result);
  }
  PQfinish(connection);
  return NULL;
}

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

int main(int count, char **arguments) {
  if (count != 5) return fprintf(stderr, "usage: postgresql SOCKET_DIRECTORY CONNECTIONS BATCHES BATCH\n"), 2;
  directory = arguments[1];
  uint32_t connectionCount = (uint32_t)atoi(arguments[2]);
  batchCount = (uint32_t)atoi(arguments[3]);
  batchSize = (uint32_t)atoi(arguments[4]);
  PGconn *connection = connectTo();
  run(connection, "DROP TABLE IF EXISTS events, tenants, requests");
  run(connection, "CREATE TABLE events (id uuid PRIMARY KEY, type text NOT NULL, subject text NOT NULL, time bigint NOT NULL, data text NOT NULL)");
  run(connection, "CREATE TABLE tenants (name text PRIMARY KEY, through bigint NOT NULL)");
  run(connection, "CREATE TABLE requests (number bigserial PRIMARY KEY, last_change bigint NOT NULL)");
  run(connection, "INSERT INTO tenants VALUES ('load', 0)");
  run(connection, "CHECKPOINT");
  struct connection *connections = calloc(connectionCount, sizeof *connections);
  pthread_t *threads = calloc(connectionCount, sizeof *threads);
  pthread_barrier_init(&start, NULL, connectionCount + 1);
  for (uint32_t number = 0; number < connectionCount; number++) {
    connections[number].number = number;
    connections[number].columns = calloc(batchCount * columnCount, sizeof(struct column));
    for (uint32_t batch = 0; batch < batchCount; batch++) prepareBatch(connections[number].columns + batch * columnCount, number, batch);
    if (pthread_create(&threads[number], NULL, work, &connections[number]) != 0) fail("no thread", NULL);
  }
  pthread_barrier_wait(&start);
  double begin = now();
  for (uint32_t number = 0; number < connectionCount; number++) pthread_join(threads[number], NULL);
  double seconds = now() - begin;
  PGresult *result = PQexec(connection, "SELECT (SELECT count(*) FROM events), (SELECT through FROM tenants)");
  uint64_t total = (uint64_t)connectionCount * batchCount * batchSize;
  if (strtoull(PQgetvalue(result, 0, 0), NULL, 10) != total || strtoull(PQgetvalue(result, 0, 1), NULL, 10) != total) {
    fail("it has other events", connection);
  }
  PQclear(result);
  PQfinish(connection);
  printf("%.0f\n", (double)total / seconds);
  return 0;
}
